import { randomUUID } from 'node:crypto'
import type { WordWeights } from '#core/domain/word-weights.ts'
import { addEntitledProfile } from '#jobs/cli/operator/actions/entitlements.ts'
import type { Caller } from '#test/support/caller.ts'
import { service } from './service.ts'

/**
 * A further profile of the version that is active, with other parameters. A build makes one profile, and the schema
 * refuses another, so the index that refuses it is removed from the database of the test.
 * @returns its id.
 */
export async function addProfile(
  knowledgeBase: string,
  parameters: object,
  threshold: number,
  wordWeights: WordWeights | null = null,
): Promise<string> {
  const id = randomUUID()
  await service.owner.query('drop index if exists retrieval_profiles_one_per_projection')
  const { rowCount } = await service.owner.query(
    `insert into retrieval_profiles (id, projection_id, parameters, signal, threshold, word_weights)
     select $1, p.projection_id, p.parameters || $3, p.signal, $4, $5 from active_versions a
       join retrieval_profiles p on p.id = a.profile_id
       join knowledge_bases b on b.id = a.knowledge_base_id where b.slug = $2`,
    [id, knowledgeBase, JSON.stringify(parameters), threshold, wordWeights && JSON.stringify(wordWeights)],
  )
  if (rowCount !== 1) throw new Error(`nothing is active in ${knowledgeBase}`)
  return id
}

/**
 * The active profile with a threshold of 0 and the given parameters. All remaining passages are shown, so a test sees
 * the search without the decision. It must be created before the caller's first request, because gateways cache access
 * for some seconds.
 */
export async function showingProfile(
  caller: Caller,
  parameters: object = {},
  wordWeights: WordWeights | null = null,
): Promise<string> {
  const id = await addProfile(caller.entitlement.split('/').at(-1) ?? '', parameters, 0, wordWeights)
  await addEntitledProfile(service.operator, caller.entitlement, id)
  return id
}
