import { withdrawalsInForce, type WithdrawalInForce } from '#core/db/withdrawals.ts'
import type { Queryable } from '#core/db/pool.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { createNaming } from '#jobs/platform/withdrawn-law.ts'
import type { PassageReader } from '#law/import/passage/staged-records-file.ts'
import { createPartsLeft, keptRecords } from '#law/import/staging/rows.ts'
import type { Staging } from '#law/import/staging/staging.ts'
import type { BuildParameters } from './parameters.ts'

type Decided = BuildParameters['withdrawals']

/** Ids of the withdrawals that do not apply to a version which was built so. */
export function decidedWithdrawals({ drop, restore }: Decided): readonly string[] {
  return [...drop.map(({ id }) => id), ...restore].sort()
}

/**
 * Checks that a build or a version decides about every withdrawal in force.
 * @param decided ids. @throws OperatorError
 */
export async function assertWithdrawalsDecided(
  database: Queryable,
  knowledgeBaseId: string,
  decided: readonly string[],
): Promise<void> {
  const open = (await withdrawalsInForce(database, knowledgeBaseId)).filter(({ id }) => !decided.includes(id))
  if (open.length > 0) throw new OperatorError(undecidedInWords(open))
}

export function undecidedInWords(open: readonly WithdrawalInForce[]): string {
  const count = open.length === 1 ? '1 withdrawal is' : `${open.length} withdrawals are`
  const first = open.slice(0, 5).map(({ id, label }) => `${id} "${label}"`)
  return (
    `${count} in force and undecided (${first.join(', ')}): build with --drop-withdrawn to leave the passages out, or ` +
    'with --restore-withdrawn where the sources are correct now; see "operator withdrawals list".'
  )
}

/** What was left out of the staged records. */
export type Dropped = ReturnType<typeof dropWithdrawn>

/**
 * Leaves the passages that are dropped out of the staged records, before revisions and rows are read from them.
 * @returns `chunkIds` of records that keep other parts; `withoutPassages`: ids of withdrawals that left nothing out, since
 * what they name is not in the import, or is there under another id.
 */
export function dropWithdrawn({ drop }: Decided, staging: Staging, reader: PassageReader) {
  const chunkIds = new Set<string>()
  if (drop.length === 0) return { passages: 0, chunkIds, withoutPassages: [] }
  const found = new Set<string>()
  const naming = createNaming(drop)
  const leave = createPartsLeft(staging)
  let passages = 0
  // The rows change while they are read, so all are read first.
  for (const kept of Array.from(keptRecords(staging))) {
    const parts = reader.passagesOf(kept)
    const named = parts.map(naming)
    // A provision covers every part of its record.
    const whole = named.flat().some((by) => by.chunk_id === '')
    const out = parts.filter((_, at) => whole || named[at]?.length)
    if (out.length === 0) continue
    passages += out.length
    leave(kept.offset, parts.length - out.length)
    for (const { chunk_id } of out) chunkIds.add(chunk_id)
    for (const { id } of named.flat()) found.add(id)
  }
  return { passages, chunkIds, withoutPassages: drop.filter(({ id }) => !found.has(id)).map(({ id }) => id) }
}
