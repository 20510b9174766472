import { z } from 'zod'
import { baseUrl, isLoopbackHost, optional, readConfig, readableFile } from '#core/platform/config.ts'
import type { ConfigOf, Variable } from '#core/platform/config.ts'

const urlList: z.ZodType<readonly string[], string | undefined> = z
  .string()
  .transform((text): readonly (string | undefined)[] => text.split(',').map((part) => part.trim()))
  .pipe(z.array(baseUrl.pipe(z.string())).min(1).max(32))

/** Variables of the processes that use an OpenSearch cluster: search nodes, the job worker, and `operator replay`. */
export const ENGINE_SETTINGS = {
  OPENSEARCH_URL: {
    schema: optional(urlList),
    help:
      'base URLs of nodes of the OpenSearch cluster, separated by commas; needed for versions that were built with ' +
      '--engine opensearch',
  },
  OPENSEARCH_USER: { schema: optional(z.string().min(1)), help: 'user of the cluster (basic authentication)' },
  OPENSEARCH_PASSWORD: { schema: optional(z.string().min(1)), help: 'password of that user', secret: true },
  OPENSEARCH_CA: {
    schema: optional(readableFile),
    help: "path of the PEM certificate authority of the cluster; the system's own if absent",
  },
  OPENSEARCH_PLAINTEXT: {
    schema: z.enum(['refuse', 'allow']).default('refuse'),
    help: 'allow: HTTP, or no user, on addresses other than loopback',
  },
} as const satisfies Record<string, Variable<unknown>>

export type EngineSettings = ConfigOf<typeof ENGINE_SETTINGS>

/** The settings of a process without a cluster. */
export const NO_ENGINE: EngineSettings = readConfig(ENGINE_SETTINGS, {})

export function engineEnvironment({ OPENSEARCH_URL: urls, ...others }: EngineSettings): Record<string, string> {
  const given = Object.entries(others).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return { ...Object.fromEntries(given), ...(urls === undefined ? {} : { OPENSEARCH_URL: urls.join(',') }) }
}

/** The settings of a cluster alone, without the other variables of a process. */
export function engineSettingsOf(config: EngineSettings): EngineSettings {
  const { OPENSEARCH_URL, OPENSEARCH_USER, OPENSEARCH_PASSWORD, OPENSEARCH_CA, OPENSEARCH_PLAINTEXT } = config
  return { OPENSEARCH_URL, OPENSEARCH_USER, OPENSEARCH_PASSWORD, OPENSEARCH_CA, OPENSEARCH_PLAINTEXT }
}

/** Returns one sentence for each conflict in a configuration. */
export function engineFaults(settings: Partial<EngineSettings>): readonly string[] {
  const { OPENSEARCH_URL: urls, OPENSEARCH_USER: user, OPENSEARCH_PASSWORD: password } = settings
  if ((user === undefined) !== (password === undefined))
    return ['OPENSEARCH_USER and OPENSEARCH_PASSWORD come together; set both or none.']
  if (urls === undefined || settings.OPENSEARCH_PLAINTEXT === 'allow') return []
  const remote = urls.filter((url) => !isLoopbackHost(new URL(url).hostname.replace(/^\[|\]$/g, '')))
  return [
    ...remote
      .filter((url) => new URL(url).protocol !== 'https:')
      .map(
        (url) => `${url} is not a loopback address: use https, or set OPENSEARCH_PLAINTEXT=allow on a trusted network.`,
      ),
    ...(remote.length > 0 && user === undefined
      ? ['OPENSEARCH_URL is not a loopback address: set OPENSEARCH_USER and OPENSEARCH_PASSWORD too.']
      : []),
  ]
}
