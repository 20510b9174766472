import { randomBytes } from 'node:crypto'
import { issueKey } from '#core/credentials/api-key.ts'
import type { RemoteFlags } from './flags.ts'
import type { Target } from './target.ts'
import type { Tenant } from './tenant.ts'

/** A deployment that is seen through its replies alone. Every tenant of a scenario is the entitlement of the keys. */
export function remoteTarget({ url, keys, knowledgeBase, queries, concurrency }: RemoteFlags): Target {
  // Its own pepper: the service has never seen the digest, whatever its own is.
  const pepper = { name: 'load', secret: randomBytes(32) }
  return {
    mode: 'url',
    knowledgeBase,
    questions: queries,
    baseUrls: () => Promise.resolve([url]),
    tenantsOf: (_, wanted) =>
      Promise.resolve(
        wanted.map(({ name }): Tenant => ({ name, secrets: keys, concurrency, limits: undefined, ids: undefined })),
      ),
    unknownKey: () => issueKey('live', pepper).secret,
    controls: () => undefined,
    clockOffsetMs: () => 0,
    readTruth: () => Promise.resolve(undefined),
  }
}
