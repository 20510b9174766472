import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { issueKey } from '#core/credentials/api-key.ts'
import { parsePeppers } from '#core/credentials/settings.ts'
import { planLimitsSchema } from '#core/domain/quota-plan.ts'
import type { Progress } from '#operator/command-line/progress.ts'
import { builtInCorpus } from '#operator/demo/corpus.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { grantAccess } from '#test/support/caller.ts'
import { createClient } from '../client.ts'
import type { Tenant } from '../evidence.ts'
import type { LoadSettings, TenantWanted } from '../scenarios/scenario.ts'
import { MOVED_CLOCK, startGateways, type Gateways } from './gateways.ts'
import type { Installation } from './installation.ts'

export type Services = Awaited<ReturnType<typeof openServices>>

export interface RunDeps {
  readonly services: Services
  readonly settings: LoadSettings
  readonly signal: AbortSignal
  readonly progress: Progress
}

/** What a run sends its requests to. @param preload see `startGateways`. */
export async function openServices(
  installation: Installation,
  { count, preload }: { readonly count: number; readonly preload?: URL },
  steps: Steps,
) {
  const real = await steps.run(`${count} gateway(s)`, () =>
    startGateways(installation, { count, name: 'gateway', preload }, steps),
  )
  let moved: Promise<Gateways> | undefined
  const startMoved = (): Promise<Gateways> =>
    startGateways(installation, { count, name: 'gateway-moved-clock', preload: MOVED_CLOCK }, steps)
  const client = createClient()
  steps.onStop(() => client.close())
  const { keyEnvironment, secrets } = installation.settings
  const [pepper] = parsePeppers(secrets.KEY_PEPPERS)
  if (pepper === undefined) throw new Error('the run has no pepper')
  return {
    installation,
    client,
    questions: builtInQuestions(),
    /** By the clock that their limits go by; those with a moved clock start when first asked for. */
    gateways: async (clock: 'real' | 'moved'): Promise<Gateways> =>
      clock === 'real' ? real : (moved ??= steps.run('gateways with a moved clock', startMoved)),
    /** A well-formed key that the service does not know. */
    unknownKey: () => issueKey(keyEnvironment, pepper).secret,
  }
}

const questionSchema = z.object({ text: z.string() })

function builtInQuestions(): readonly string[] {
  const lines = readFileSync(builtInCorpus().questionsFile ?? '', 'utf8')
    .trimEnd()
    .split('\n')
  return lines.map((line) => questionSchema.parse(JSON.parse(line)).text)
}

const MANY = 1_000_000
/** Limits that nothing reaches, so that a scenario meets only those that it names. */
const UNREACHED = {
  requests_per_minute: MANY,
  concurrency: 10_000,
  requests_per_day: MANY,
  requests_per_month: MANY,
  exposure: { floors: { corpus: MANY, document: MANY } },
}
/** The whole of the demo's rulebook. */
const ENTITLED = { languages: ['en'], jurisdictions: ['HS-M', 'HS-F'] }

/** @param scenario begins the name of its organization, client and plan. */
export async function createTenant(
  { operator, settings, knowledgeBase }: Installation,
  scenario: string,
  { name, limits: wanted, keys }: TenantWanted,
): Promise<Tenant> {
  const limits = planLimitsSchema.parse({ ...UNREACHED, ...wanted })
  const access = { name: `${scenario}-${name}`, limits, knowledgeBase, keys, ...ENTITLED }
  const { keys: issued, ...ids } = await grantAccess(operator, settings, access)
  return { name, limits, secrets: issued.map(({ key }) => key), ...ids }
}
