import { rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { startCluster } from '#operator/demo/local/opensearch/start.ts'
import { createSchema, startPostgres } from '#operator/demo/local/postgres.ts'
import { startRedis } from '#operator/demo/local/redis.ts'
import { startGateway, startJobs, startSearchNode, startTrace, storeUrl } from '#operator/demo/local/stack.ts'
import type { LocalService } from '#operator/demo/local/processes.ts'
import type { StackSettings } from '#operator/demo/local/stack.ts'
import type { DemoCorpus } from './corpus.ts'
import type { DemoFlags } from './flags.ts'
import { writePrivately, type DemoState } from './state.ts'
import type { Steps } from './steps.ts'
import type { OnSpawn } from '#operator/demo/local/supervised-process.ts'

const DATABASE = 'evidence'

export type Installation = Awaited<ReturnType<typeof startInstallation>>

export interface InstallationOptions {
  readonly folder: string
  readonly secrets: DemoState['secrets']
  readonly flags: Pick<DemoFlags, 'port' | 'watch' | 'engine'>
  readonly actor: string
  readonly corpus: Pick<DemoCorpus, 'folder'>
  /** Files of an earlier run. They are removed once this run owns the folder, never while another run uses it. */
  readonly stale: readonly string[]
  /** Additional variables of the services: those of an embedding endpoint. */
  readonly environment: Readonly<Record<string, string>>
}

/**
 * Starts Postgres, Redis, schema, a cluster if one is asked for, search node, job worker, gateway and trace, in this
 * order. `steps` stops them in reverse order, including a service that is still starting.
 */
export async function startInstallation(
  { folder, secrets, flags, actor, corpus, stale, environment }: InstallationOptions,
  steps: Steps,
) {
  const onLog = (line: string): void => steps.note(line)
  const onSpawn: OnSpawn = (stop) => steps.onStop(stop)
  const postgres = await steps.run('Postgres', () =>
    startPostgres({ folder: join(folder, 'postgres'), onLog, onSpawn }),
  )
  for (const file of stale) rmSync(file, { force: true })
  const redis = await steps.run('Redis', () => startRedis({ folder: join(folder, 'redis'), onLog, onSpawn }))
  const logins = await steps.run('schema', () => createSchema(postgres, DATABASE))
  const cluster =
    flags.engine === 'opensearch'
      ? await steps.run('OpenSearch', () =>
          startCluster({ folder: join(folder, 'opensearch'), nodes: 1, onLog, onSpawn }),
        )
      : undefined
  // What is captured on a schedule is the corpus, or what is put beside the logs.
  const roots = [corpus.folder, join(folder, 'sources')].filter((root) => !root.includes(delimiter))
  const settings: StackSettings = {
    folder,
    gatewayDatabaseUrl: logins.gatewayUrl,
    jobsDatabaseUrl: logins.jobsUrl,
    redisUrl: redis.url,
    keyEnvironment: 'live',
    secrets,
    environment: {
      ...environment,
      SOURCE_ROOTS: roots.join(delimiter),
      ...(cluster && { OPENSEARCH_URL: cluster.urls.join(',') }),
    },
    restartOnChange: flags.watch,
    onSpawn,
  }
  const variables = { ...operatorVariables(settings, logins.operatorUrl, actor), BACKUP_DATABASE_URL: logins.backupUrl }
  writePrivately(join(folder, 'operator.env'), inShell(variables))
  const searchNode = await steps.run('search node', () => startSearchNode(settings))
  const port = Number(searchNode.address.split(':').at(-1))
  steps.watch(searchNode, () => startSearchNode(settings, 'search-node', port))
  const jobs = (): Promise<LocalService> => startJobs(settings, [searchNode.address])
  steps.watch(await steps.run('job worker', jobs), jobs)
  const gateway = await steps.run('gateway', () => startGateway(settings, [searchNode.address], 'gateway', flags.port))
  steps.watch(gateway)
  const trace = await steps.run('trace', () => startTrace(settings))
  steps.watch(trace)
  return { settings, operatorUrl: logins.operatorUrl, searchNode, gateway, trace }
}

/** Returns the environment of `npm run operator` for an installation. */
export function operatorVariables(settings: StackSettings, operatorUrl: string, actor: string) {
  const { KEY_PEPPERS, SERVICE_SECRET, MANIFEST_PUBLIC_KEY } = settings.secrets
  return {
    ...settings.environment,
    DATABASE_URL: operatorUrl,
    REDIS_URL: settings.redisUrl,
    ARTIFACT_STORE: storeUrl(settings),
    MANIFEST_PUBLIC_KEY,
    KEY_PEPPERS,
    SERVICE_SECRET,
    OPERATOR_ACTOR: actor,
  }
}

function inShell(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `${name}='${value.replaceAll("'", "'\\''")}'`)
    .join('\n')
}
