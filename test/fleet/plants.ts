import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

/** A change of one line of the product by hand. */
type Change = readonly [file: string, from: string, to: string]

/** Faults of the product; a run must find each of them. */
export const PLANTS: Readonly<Record<string, readonly Change[]>> = {
  'abstains where a search failed': [
    [
      'gateway/retrieve/search.ts',
      `throw new ServiceError('RETRIEVAL_UNAVAILABLE', { cause })`,
      'return { passages: [], predictors: new Array(64).fill(0), unsupported: [] }',
    ],
  ],
  'asks one node': [['gateway/search-tier.ts', 'if (!isWorthAnotherNode(error)) break', 'break']],
  'ignores withdrawals': [['gateway/retrieve/pin.ts', 'profile.withdrawn.map(withdrawnOf)', '[]']],
  'keeps access for long': [
    ['gateway/access-cache.ts', 'ttl: GATEWAY_BOUNDS.accessCacheMs', 'ttl: 600_000'],
    ['gateway/access-cache.ts', `next.on('notification', changed)`, ''],
  ],
  'forgets revocations': [
    ['core/db/access.ts', 'k.expires_at, k.revoked_at,', 'k.expires_at, null::timestamptz as revoked_at,'],
  ],
  'ignores the concurrency': [
    [
      'core/limits/counters.ts',
      'const { limits, idempotencyDigest } = request',
      'const { idempotencyDigest } = request; const limits = { ...request.limits, concurrency: 10_000 }',
    ],
  ],
  'ignores Idempotency-Key': [['gateway/retrieve/admit.ts', 'idempotencyKey === undefined', 'true']],
  'asks the provider twice': [
    [
      'gateway/retrieve/embed.ts',
      'context.timings.wait(',
      `embedderOf(embedding).embed([query], 'query', withinTime).then(() => undefined, () => undefined) && context.timings.wait(`,
    ],
  ],
  'settles Redis once': [['core/limits/settlement.ts', 'if (answer === undefined)', 'if (answer === null)']],
  'never sweeps': [
    [
      'jobs/worker/maintenance/sweep.ts',
      'for (const { id, ...about } of overdue)',
      'for (const { id, ...about } of [])',
    ],
  ],
}

/** Of `plants.ts?plant=NAME,NAME`, which a process loads before its `main.ts`. */
const wanted = new URL(import.meta.url).searchParams.get('plant')

/** @throws Error where a change does not fit its file. */
export function changed(source: string, changes: readonly Change[]): string {
  return changes.reduce((text, [file, from, to]) => {
    if (!text.includes(from)) throw new Error(`${file} has no "${from}"`)
    return text.replace(from, to)
  }, source)
}

if (wanted !== null) {
  const changes = wanted.split(',').flatMap((name) => PLANTS[name] ?? [])
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      const own = changes.filter(([file]) => url.endsWith(`/${file}`))
      return own.length === 0 ? loaded : { ...loaded, source: changed(readFileSync(new URL(url), 'utf8'), own) }
    },
  })
}
