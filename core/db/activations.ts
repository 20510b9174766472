import { z } from 'zod'
import { DATABASE_BOUNDS } from './bounds.ts'
import type { Queryable } from './pool.ts'
import { readIds, readRow, affectsRow } from './rows.ts'

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

const INSERT =
  'insert into activations (id, knowledge_base_id, version_id, expected_version_id, kind, actor) ' +
  'values ($1, $2, $3, $4, $5, $6)'

export async function insertActivation(database: Queryable, row: NewActivation): Promise<void> {
  await database.query(INSERT, [row.id, row.knowledgeBaseId, row.versionId, row.expectedVersionId, row.kind, row.actor])
}

const READ =
  'select id, knowledge_base_id, version_id, expected_version_id, kind, actor, ' +
  'state, message from activations where id = $1'

export function readActivation(database: Queryable, id: string): Promise<ActivationRow | undefined> {
  return readRow(database, activationSchema, READ, [id])
}

/** The row lock makes a second run of the same activation wait. It then sees that the activation is finished. */
const LOCK = `${READ} for update`

export function lockActivation(client: Queryable, id: string): Promise<ActivationRow | undefined> {
  return readRow(client, activationSchema, LOCK, [id])
}

/** The first activation of a knowledge base. It changes nothing if a pointer exists. */
const FIRST_POINTER = `
insert into active_versions (knowledge_base_id, version_id) values ($1, $2)
on conflict (knowledge_base_id) do nothing`

/** Compare-and-set on the expected predecessor. */
const MOVE_POINTER = `
update active_versions set version_id = $2, previous_version_id = version_id, activated_at = clock_timestamp()
where knowledge_base_id = $1 and version_id = $3`

/** @returns false when another version than the expected one is active. */
export async function movePointer(client: Queryable, activation: ActivationRow): Promise<boolean> {
  const { knowledge_base_id: knowledgeBaseId, version_id: versionId, expected_version_id: expected } = activation
  const { rowCount } =
    expected === null
      ? await client.query(FIRST_POINTER, [knowledgeBaseId, versionId])
      : await client.query(MOVE_POINTER, [knowledgeBaseId, versionId, expected])
  return rowCount === 1
}

/**
 * Taken before a review or an activation of a version, so that the two run in sequence and the later sees the earlier
 * decision. It does not block rows that only reference the version.
 */
const LOCK_VERSION = 'select id from corpus_versions where id = $1 for no key update'

export async function lockVersion(client: Queryable, versionId: string): Promise<void> {
  await client.query(LOCK_VERSION, [versionId])
}

/** A state changes only from the state that was read. */
const SET_VERSION_STATE = 'update corpus_versions set state = $3 where id = $1 and state = $2'

export function setVersionState(client: Queryable, versionId: string, from: string, to: string): Promise<boolean> {
  return affectsRow(client, SET_VERSION_STATE, [versionId, from, to])
}

/**
 * A trigger gives a done activation its place in the history, under the lock of the pointer that was moved. Times are
 * those of the statement: its transaction may have waited minutes for search nodes.
 */
const FINISH = `
update activations set state = $2, message = $3, finished_at = clock_timestamp() where id = $1 and state = 'queued'`

/** @returns false if it is already finished; the earlier outcome remains. */
export function finishActivation(client: Queryable, id: string, state: 'done' | 'refused', message: string) {
  return affectsRow(client, FINISH, [id, state, message.slice(0, DATABASE_BOUNDS.failureMessageCharactersMax)])
}

const QUEUED = "select id from activations where state = 'queued' order by created_at limit $1"

export function queuedActivations(database: Queryable, limit: number): Promise<readonly string[]> {
  return readIds(database, QUEUED, [limit])
}

/**
 * Between the loading of a version and its activation no release may happen. Activations share this lock; a release
 * needs it exclusively.
 */
const BLOCK_RELEASES = "select pg_advisory_xact_lock_shared(hashtextextended('release of versions', 0))"
const TRY_RELEASES = "select pg_try_advisory_xact_lock(hashtextextended('release of versions', 0)) as alone"

/** Loading takes longer than the idle time-out of other transactions. */
const ALLOW_LOADING = `set local idle_in_transaction_session_timeout = ${DATABASE_BOUNDS.activationTimeoutMs}`

export async function blockReleases(client: Queryable): Promise<void> {
  await client.query(ALLOW_LOADING)
  await client.query(BLOCK_RELEASES)
}

/** @returns false while an activation runs. The lock is held until the transaction ends. */
export async function tryLockReleases(client: Queryable): Promise<boolean> {
  const { rows } = await client.query(TRY_RELEASES)
  return z.object({ alone: z.boolean() }).parse(rows[0]).alone
}
