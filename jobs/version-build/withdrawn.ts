import { withdrawalsInForce, type WithdrawalInForce } from '#core/db/withdrawals.ts'
import type { Queryable } from '#core/db/pool.ts'
import { OperatorError } from '#core/platform/errors.ts'
import type { Passage } from '#law/import/passage/passage.ts'
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
  return (
    `${count} in force and undecided (${open
      .map(({ id }) => id)
      .slice(0, 5)
      .join(', ')}): build with ` +
    '--drop-withdrawn to leave the passages out, or with --restore-withdrawn where the sources are correct now; see ' +
    '"operator withdrawals list".'
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
  const leftOut = new Set<string>()
  const isWithdrawn = createMatch(drop)
  const leave = createPartsLeft(staging)
  let passages = 0
  // The rows change while they are read, so all are read first.
  for (const kept of Array.from(keptRecords(staging))) {
    const parts = reader.passagesOf(kept)
    const out = isWithdrawn(parts)
    if (out.length === 0) continue
    passages += out.length
    leave(kept.offset, parts.length - out.length)
    for (const { chunk_id, provision, document } of out) {
      chunkIds.add(chunk_id)
      for (const id of [chunk_id, provision, document.id]) leftOut.add(id)
    }
  }
  const isFound = (one: Decided['drop'][number]): boolean =>
    [one.chunk_id, ...one.provisions].some((id) => leftOut.has(id)) ||
    (one.chunk_id === '' && one.provisions.length === 0 && leftOut.has(one.document))
  return { passages, chunkIds, withoutPassages: drop.filter((one) => !isFound(one)).map(({ id }) => id) }
}

/** A provision covers every part of its record. */
function createMatch(drop: Decided['drop']): (parts: readonly Passage[]) => readonly Passage[] {
  const documents = new Set(
    drop.filter((one) => one.chunk_id === '' && one.provisions.length === 0).map((one) => one.document),
  )
  const provisions = new Set(drop.flatMap((one) => one.provisions))
  const chunks = new Set(drop.map((one) => one.chunk_id))
  return (parts) => {
    const whole = parts.some(({ document, provision }) => documents.has(document.id) || provisions.has(provision))
    return whole ? parts : parts.filter(({ chunk_id }) => chunks.has(chunk_id))
  }
}
