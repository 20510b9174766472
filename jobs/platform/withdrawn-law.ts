import { hash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Queryable } from '#core/db/pool.ts'
import { insertWithdrawnLaw, readWithdrawnLaw } from '#core/db/withdrawals.ts'
import type { WithdrawalInForce, WithdrawnLaw } from '#core/db/withdrawals.ts'
import { foldKey } from '#core/identity/fold.ts'
import { ArtifactError } from '#core/index/artifact-error.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { passagesIn } from '#core/index/passages/records.ts'
import { JOB_BOUNDS } from './bounds.ts'

/** What the import adds to the label of a part. */
export const PART = / \(part \d+ of \d+[^)]*\)/
/** Kinds of marks of a withdrawn document, and of a withdrawn passage. */
const OF_DOCUMENT = /^(?:text|title|url) /
const OF_PASSAGE = /^(?:text|label|address) /

/** What identifies the law of a passage, whatever its ids: kind and digest. */
function marksOf({ text, citation, document }: PassageRecord): readonly string[] {
  const { title, authority, canonical_url: url } = document
  const mark = (kind: string, ...parts: readonly string[]): string =>
    `${kind} ${hash('sha256', parts.map(foldKey).join('\0'), 'base64').slice(0, 20)}`
  const placeOf = (address: string): string => address.replace(/^https?:\/\/(?:www\.)?|\/+$/gi, '')
  return [
    mark('text', text),
    mark('label', citation.label.replace(PART, ''), title, authority),
    ...(citation.source_anchor === url ? [] : [mark('address', placeOf(citation.source_anchor))]),
    mark('title', title, authority),
    mark('url', placeOf(url)),
  ]
}

/** Finds which withdrawals name a passage by id. */
export function createNaming<W extends WithdrawalInForce>(withdrawals: readonly W[]) {
  const byId = listed(withdrawals, ({ chunk_id: chunk, provisions, document }) =>
    chunk !== '' ? [chunk] : provisions.length > 0 ? provisions : [document],
  )
  return ({ chunk_id, provision, document }: Pick<PassageRecord, 'chunk_id' | 'provision' | 'document'>) =>
    [chunk_id, provision, document.id].flatMap(byId)
}

function listed<T>(all: Iterable<T>, keysOf: (one: T) => Iterable<string>): (key: string) => readonly T[] {
  const found = new Map<string, T[]>()
  for (const one of all) for (const key of keysOf(one)) found.set(key, [...(found.get(key) ?? []), one])
  return (key) => found.get(key) ?? []
}

/** Streams the passages of an artifact, each with its marks and the withdrawals that name it by id. */
async function* namedPassages(withdrawals: readonly WithdrawnLaw[], folder: string) {
  const naming = createNaming(withdrawals)
  for await (const passage of passagesIn(join(folder, 'passages.jsonl')))
    yield { passage, marks: marksOf(passage), by: naming(passage) }
}

type Made = Readonly<Record<'id' | 'version', string>>

/**
 * Reads the withdrawals in force, and other law that was stated since. Missing marks are derived from the version that
 * was active when the withdrawal began, or that `made` names, where it is kept.
 */
export async function readLaw(database: Queryable, store: ArtifactStore, baseId: string, made?: Made) {
  const known = await readWithdrawnLaw(database, baseId)
  const pending = known.filter(({ id, in_force, marks }) => marks.size === 0 && (in_force || id === made?.id))
  for (const [version, law] of Map.groupBy(pending, (one) => (one.id === made?.id ? made.version : one.active_then)))
    if (version !== null) await recordLaw(database, store, version, law)
  return pending.length === 0 ? known : await readWithdrawnLaw(database, baseId)
}

async function recordLaw(database: Queryable, store: ArtifactStore, version: string, law: readonly WithdrawnLaw[]) {
  const folder = await store.fetch(store.artifactFolder(version)).catch((error: unknown) => {
    if (error instanceof ArtifactError) return ''
    throw error
  })
  if (!existsSync(join(folder, 'passages.jsonl'))) return
  const derived = new Map(law.map((one) => [one, { marks: new Set<string>(), beside: new Set<string>() }]))
  for await (const { marks, by } of namedPassages(law, folder))
    for (const one of by) {
      const kinds = one.chunk_id === '' && one.provisions.length === 0 ? OF_DOCUMENT : OF_PASSAGE
      for (const mark of marks) if (kinds.test(mark)) derived.get(one)?.marks.add(mark)
    }
  const byMark = listed(derived, ([, { marks }]) => marks)
  const others = new Map<string, Set<string>>()
  for await (const { passage, marks, by } of namedPassages(law, folder))
    for (const mark of marks)
      for (const [one, { beside }] of byMark(mark)) {
        const { id } = passage.document
        if (by.includes(one)) continue
        if (id !== one.document) others.set(mark, (others.get(mark) ?? new Set()).add(id))
        else if (!mark.startsWith('text ')) beside.add(passage.chunk_id)
        if ((others.get(mark)?.size ?? 0) > JOB_BOUNDS.lawOtherDocumentsMax) beside.add(mark)
      }
  for (const [{ id, in_force }, { marks, beside }] of derived)
    if (marks.size > 0) await insertWithdrawnLaw(database, id, version, !in_force, [...marks], [...beside])
}

/**
 * Finds in a version, in one pass, the first law of withdrawals in force under ids that none of them names. It is decided
 * where it was stated later to be other law, with its text.
 * @param restored ids of withdrawals whose law the version serves again.
 */
export async function lawUnderOtherIds(law: readonly WithdrawnLaw[], folder: string, restored: readonly string[]) {
  const sought = law.filter(({ id, in_force, marks }) => in_force && marks.size > 0 && !restored.includes(id))
  const byMark = listed(sought, ({ marks, beside }) => [...marks].filter((mark) => !beside.has(mark)))
  const found: string[] = []
  if (sought.length === 0) return found
  for await (const { passage, marks, by } of namedPassages(law, folder)) {
    if (by.some((one) => one.in_force)) continue
    for (const withdrawal of new Set(marks.flatMap(byMark))) {
      const shared = marks.filter((mark) => byMark(mark).includes(withdrawal))
      const isDecided = ({ is_other, created_at: at, marks: own }: WithdrawnLaw): boolean =>
        is_other && at > withdrawal.created_at && shared.every((mark) => !mark.startsWith('text ') || own.has(mark))
      if (withdrawal.beside.has(passage.chunk_id) || by.some(isDecided)) continue
      const kinds = shared.map((mark) => mark.replace(/ .*/, '')).join(', ')
      const held = `${passage.chunk_id} "${passage.citation.label}, ${passage.document.title}"`
      found.push(`${withdrawal.id} "${withdrawal.label}" has the ${kinds} of ${held}.`)
      if (found.length === JOB_BOUNDS.lawFoundMax) return found
    }
  }
  return found
}
