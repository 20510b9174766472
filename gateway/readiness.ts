import { readServed, type ModelNeeds, type ServedKnowledgeBase } from '#core/db/access.ts'
import { activeVersions } from '#core/db/versions.ts'
import { assertSchemaCompatible } from '#core/db/schema.ts'
import type { Database } from '#core/db/pool.ts'
import type { Counters } from '#core/limits/counters.ts'
import { OperatorError } from '#core/platform/errors.ts'
import type { Log } from '#core/platform/log.ts'
import { GATEWAY_BOUNDS } from './bounds.ts'
import { startDependencyMonitor } from './dependencies.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { Outages } from './outages.ts'
import type { SearchTier } from './search-tier.ts'
import type { Statements } from './statements.ts'

export interface ReadinessDeps {
  readonly database: Database
  readonly statements: Statements
  readonly counters: Counters
  readonly searchTier: SearchTier
  readonly outages: Pick<Outages, 'models'>
  readonly lifecycle: Lifecycle
  /** Variables that name the endpoints of models, with their values. */
  readonly endpoints: Readonly<Record<(typeof ENDPOINT_OF)[keyof ModelNeeds], string | undefined>>
  readonly log: Log
}

const ENDPOINT_OF = {
  embedding: 'OPENAI_BASE_URL',
  rewriter: 'REWRITER_BASE_URL',
  reader: 'READER_BASE_URL',
} as const satisfies Record<keyof ModelNeeds, string>
const MODELS = ['embedding', 'rewriter', 'reader'] as const satisfies readonly (keyof ModelNeeds)[]

/**
 * Readiness is local: the schema fits, every dependency was reached once, and the gateway is not stopping. A shared
 * dependency that fails later changes only `dependencies`, because all gateways would leave at once otherwise.
 */
export type Readiness = ReturnType<typeof startReadiness>

export function startReadiness(deps: ReadinessDeps) {
  const { database, statements, counters, searchTier, outages, lifecycle, endpoints, log } = deps
  const startedMs = performance.now()
  let answerable = false
  let schemaFault: string | undefined
  let served: readonly ServedKnowledgeBase[] = []
  let modelFault: string | undefined = 'what the active versions need is not known yet'
  const monitor = startDependencyMonitor(
    {
      postgres: async () => {
        await statements.look()
        schemaFault = await schemaFaultOf(database)
        return statements.reason()
      },
      redis: async () => {
        const fault = counters.fault()
        if (fault === undefined) await counters.ping()
        return fault
      },
      search: async () => {
        if (!(await searchTier.isReachable(GATEWAY_BOUNDS.dependencyCheckTimeoutMs))) return 'no search node answers'
        answerable ||= await isAnswerable(database, searchTier, startedMs)
        return answerable ? undefined : 'an active version is on no search node yet'
      },
      // While Postgres is away, what was known last holds.
      models: async () => {
        const read = await readServed(database).catch(() => undefined)
        if (read !== undefined) {
          served = read
          modelFault = missingEndpoint(read, endpoints)
        }
        return modelFault ?? outages.models()
      },
    },
    log,
  )
  return {
    /** Reasons against readiness, from memory; empty: ready. */
    faults: (): readonly string[] => {
      if (lifecycle.phase() !== 'serving') return ['stopping']
      const unreached = monitor.neverReached().map((name) => `${name} was not reached since the start`)
      return schemaFault === undefined ? unreached : [schemaFault, ...unreached]
    },
    dependencies: monitor.states,
    /** Knowledge bases that callers may ask. One that cannot be served is no fault of this gateway. */
    knowledgeBases: () => served.map((one) => stateOf(one, searchTier, endpoints)),
    stop: monitor.stop,
  }
}

/** Of each, the active version, or null; and why it cannot be served, or null. */
function stateOf(
  served: ServedKnowledgeBase,
  searchTier: Pick<SearchTier, 'serves'>,
  endpoints: ReadinessDeps['endpoints'],
) {
  const { knowledge_base, version_id: version } = served
  const reasonOf = (): string | null => {
    if (version === null) return 'no version is active'
    if (!searchTier.serves(version)) return 'no search node that answers holds its active version'
    return missingEndpoint([served], endpoints) ?? null
  }
  return { knowledge_base, version, reason: reasonOf() }
}

/** Undefined: this gateway has what the active versions need. */
function missingEndpoint(needs: readonly ModelNeeds[], endpoints: ReadinessDeps['endpoints']): string | undefined {
  const needed = MODELS.filter((model) => needs.some((each) => each[model])).map((model) => ENDPOINT_OF[model])
  const missing = needed.filter((name) => endpoints[name] === undefined)
  return missing.length === 0 ? undefined : `an active version needs ${missing.join(' and ')}`
}

/** Whether each active version can be searched, or was awaited long enough: readiness stays local from then on. */
async function isAnswerable(database: Database, searchTier: SearchTier, startedMs: number): Promise<boolean> {
  if (performance.now() - startedMs > GATEWAY_BOUNDS.versionsAwaitedMs) return true
  const active = await activeVersions(database).catch(() => undefined)
  return active?.every((versionId) => searchTier.holds(versionId)) === true
}

/** Undefined: this code can serve on the schema. */
async function schemaFaultOf(database: Database): Promise<string | undefined> {
  try {
    await assertSchemaCompatible(database)
    return undefined
  } catch (error) {
    if (error instanceof OperatorError) return error.message
    throw error
  }
}
