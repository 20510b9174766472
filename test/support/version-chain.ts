import type { Database } from '#core/db/pool.ts'
import { readVersion } from '#core/db/versions.ts'
import type { ChainRecord } from '#core/domain/version-chain.ts'
import { extendChain } from '#jobs/activate/chain.ts'
import type { signingKeys } from './secrets.ts'
import type { HistoryBase } from './version-rows.ts'

export interface SignedHistory {
  readonly owner: Database
  /** The role of the job worker. */
  readonly jobs: Database
  readonly base: HistoryBase
  readonly keys: ReturnType<typeof signingKeys>
}

/** What a done activation leaves, without its checks, with its entry of the version chain. */
export async function activateSigned({ owner, jobs, base, keys }: SignedHistory, versionId: string): Promise<void> {
  await base.activate(versionId)
  const { rows } = await owner.query<{ id: string }>(
    'select id from activations where knowledge_base_id = $1 order by sequence desc limit 1',
    [base.id],
  )
  const version = await readVersion(owner, versionId)
  if (version === undefined) throw new Error('the version was just inserted')
  const record: ChainRecord = {
    version_id: version.id,
    profile: { id: version.profile_id, sha256: version.profile_sha256 },
    changes: null,
    approvals: [],
  }
  const activation = { id: rows[0]?.id ?? '', kind: 'activate' as const, expected_version_id: null }
  await extendChain(jobs, activation, version, record, keys.privateKeyDer)
}
