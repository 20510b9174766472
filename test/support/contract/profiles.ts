import { randomUUID } from 'node:crypto'
import { addEntitledProfile } from '#jobs/operator/actions/entitlements.ts'
import type { Caller } from '#test/support/caller.ts'
import { service } from './service.ts'

/**
 * A further profile of the version that is active, with other parameters. A build makes one profile, and the schema
 * refuses another, so the constraint that refuses it is removed from the database of the test.
 * @returns its id.
 */
export async function addProfile(knowledgeBase: string, parameters: object, threshold: number): Promise<string> {
  const id = randomUUID()
  await service.owner.query(
    'alter table retrieval_profiles drop constraint if exists retrieval_profiles_version_id_key',
  )
  const { rowCount } = await service.owner.query(
    `insert into retrieval_profiles (id, version_id, parameters, signal, threshold)
     select $1, p.version_id, p.parameters || $3, p.signal, $4 from active_versions a
       join retrieval_profiles p on p.id = a.profile_id
       join knowledge_bases b on b.id = a.knowledge_base_id where b.slug = $2`,
    [id, knowledgeBase, JSON.stringify(parameters), threshold],
  )
  if (rowCount !== 1) throw new Error(`nothing is active in ${knowledgeBase}`)
  return id
}

/**
 * The active profile with a threshold of 0 and the given parameters. All remaining passages are shown, so a test sees
 * the search without the decision. It must be created before the caller's first request, because gateways cache access
 * for some seconds.
 */
export async function showingProfile(caller: Caller, parameters: object = {}): Promise<string> {
  const id = await addProfile(caller.entitlement.split('/').at(-1) ?? '', parameters, 0)
  await addEntitledProfile(service.operator, caller.entitlement, id)
  return id
}
