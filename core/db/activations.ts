import { z } from 'zod'
import { DATABASE_BOUNDS } from './bounds.ts'
import type { Queryable } from './pool.ts'
import { changesOne, execute, ids, rowOf, valueOf } from './rows.ts'

export const ACTIVATION_KINDS = ['activate', 'rollback'] as const

const activationSchema = z.object({
  id: z.uuid(),
  knowledge_base_id: z.uuid(),
  version_id: z.uuid(),
  expected_version_id: z.uuid().nullable(),
  kind: z.enum(ACTIVATION_KINDS),
  actor: z.string(),
  state: z.enum(['queued', 'done', 'refused']),
  message: z.string().nullable(),
})
export type ActivationRow = z.infer<typeof activationSchema>

export interface NewActivation {
  readonly id: string
  readonly knowledgeBaseId: string
  readonly versionId: string
  /** The active version at the time of the request; null if none was active. */
  readonly expectedVersionId: string | null
  readonly kind: (typeof ACTIVATION_KINDS)[number]
  readonly actor: string
}

export const insertActivation = execute.named<NewActivation>`
  insert into activations (id, knowledge_base_id, version_id, expected_version_id, kind, actor)
  values (:id, :knowledgeBaseId, :versionId, :expectedVersionId, :kind, :actor)`

const READ =
  'select id, knowledge_base_id, version_id, expected_version_id, kind, actor, ' +
  'state, message from activations where id = $1'

export const readActivation = rowOf(activationSchema)<[id: string]>`${READ}`

/** The row lock makes a second run of the same activation wait. It then sees that the activation is finished. */
export const lockActivation = rowOf(activationSchema)<[id: string]>`${READ} for update`

/** The first activation of a knowledge base. It changes nothing if a pointer exists. */
const setFirstPointer = changesOne<[knowledgeBaseId: string, versionId: string]>`
  insert into active_versions (knowledge_base_id, version_id) values ($1, $2)
  on conflict (knowledge_base_id) do nothing`

/** Compare-and-set on the expected predecessor. */
const replacePointer = changesOne<[knowledgeBaseId: string, versionId: string, expected: string]>`
  update active_versions set version_id = $2, previous_version_id = version_id, activated_at = clock_timestamp()
  where knowledge_base_id = $1 and version_id = $3`

/** @returns false when another version than the expected one is active. */
export async function movePointer(client: Queryable, activation: ActivationRow): Promise<boolean> {
  const { knowledge_base_id: knowledgeBaseId, version_id: versionId, expected_version_id: expected } = activation
  return expected === null
    ? await setFirstPointer(client, knowledgeBaseId, versionId)
    : await replacePointer(client, knowledgeBaseId, versionId, expected)
}

/**
 * Taken before a review or an activation of a version, so that the two run in sequence and the later sees the earlier
 * decision. It does not block rows that only reference the version.
 */
export const lockVersion = execute<[versionId: string]>`select id from corpus_versions where id = $1 for no key update`

/** A state changes only from the state that was read. */
export const setVersionState = changesOne<[versionId: string, from: string, to: string]>`
  update corpus_versions set state = $3 where id = $1 and state = $2`

/**
 * A trigger gives a done activation its place in the history, under the lock of the pointer that was moved. Times are
 * those of the statement: its transaction may have waited minutes for search nodes.
 * @returns false if it is already finished; the earlier outcome remains.
 */
export const finishActivation = changesOne<[id: string, state: 'done' | 'refused', message: string]>`
  update activations set state = $2, message = left($3, ${String(DATABASE_BOUNDS.failureMessageCharactersMax)}),
    finished_at = clock_timestamp()
  where id = $1 and state = 'queued'`

export const queuedActivations = ids<[limit: number]>`
  select id from activations where state = 'queued' order by created_at limit $1`

/**
 * Between the loading of a version and its activation no release may happen. Activations share this lock; a release
 * needs it exclusively.
 */
const shareReleases = execute`select pg_advisory_xact_lock_shared(hashtextextended('release of versions', 0))`

/** Loading takes longer than the idle time-out of other transactions. */
const allowLoading = execute`
  set local idle_in_transaction_session_timeout = ${String(DATABASE_BOUNDS.activationTimeoutMs)}`

export async function blockReleases(client: Queryable): Promise<void> {
  await allowLoading(client)
  await shareReleases(client)
}

/** @returns false while an activation runs. The lock is held until the transaction ends. */
export const tryLockReleases = valueOf(z.boolean())`
  select pg_try_advisory_xact_lock(hashtextextended('release of versions', 0)) as alone`
