import type { ReferencesReader } from '#core/index/references/reader.ts'
import type { UnsupportedReference } from '#core/domain/search.ts'
import { ancestorsOf, canonicalReference, referencesIn } from '#law/citations/parser.ts'
import type { ActAliases, ExplicitReference, Reference } from '#law/citations/parser.ts'
import { NEARNESS, type NamedBy, type NamedRows, type Nearness } from '#search-node/search/interfaces.ts'

/** Maximum of references per query that are looked up; later ones are ignored. */
export const EXPLICIT_REFERENCES_MAX = 32
/** Maximum of rows that one query boosts; the rows nearest to its references are kept. */
export const NAMED_ROWS_MAX = 1_000
/** Maximum of passages of one provision whose text is searched for marks of the named part. */
const AROUND_ROWS_MAX = 32

/** The rows that a request may see, and the text of a row. */
export interface Visibility {
  /** Under the request's own filters; allowed implies entitled. */
  readonly allowed: (row: number) => boolean
  /** Allowed but for a withdrawal. */
  readonly withdrawn: (row: number) => boolean
  /** Under the entitlement alone. */
  readonly entitled: (row: number) => boolean
  readonly text: (row: number) => string
  readonly document: (row: number) => number
}

/**
 * Looks up the provisions that a query cites. A provision is supported if an allowed passage is its text or the text of
 * a part of it. If the corpus holds neither, passages of the nearest enclosing provision that mark the part support it
 * (see `textsMarking`). An act named without a provision is supported by any of its passages. It boosts none, because
 * it names no particular passage. An article in small letters without an act (`art. 970`) counts if it is held in one
 * document, and is no reference otherwise. Where a passage of exactly the provision is withdrawn, the rest of its
 * document does not support it: a part of a text may mislead.
 */
export function resolveReferences(
  query: string,
  index: ReferencesReader,
  aliases: ActAliases,
  reach: Visibility,
): NamedRows {
  const rows = new Map<number, NamedBy>()
  const unsupported: UnsupportedReference[] = []
  const { certain, ifHeld } = referencesIn(query, aliases)
  const explicit = [...certain, ...ifHeld.filter(({ reference }) => isHeldClearly(reference, index, reach))].toSorted(
    (a, b) => a.start - b.start,
  )
  for (const [at, { text, reference }] of distinct(explicit).entries()) {
    const { held, provision } = firstHeld(readings(reference, index), index, reach)
    const allowed = supportingRows(held, provision, reach)
    if (allowed.some(({ rows: found }) => found.length > 0)) {
      const withoutAct = reference.act === undefined
      for (const { rows: found, nearness } of provision ? allowed : [])
        addRows(rows, found, { reference: at, nearness, withoutAct })
      continue
    }
    unsupported.push({ text, normalized: canonicalReference(reference), reason: reasonOf(held, reach) })
  }
  return { ids: nearestRows(rows), unsupported, remainder: remainderOf(query, explicit) }
}

/** Returns a text without whatever may be a reference. */
export function withoutReferences(text: string, aliases: ActAliases): string {
  const { certain, ifHeld } = referencesIn(text, aliases)
  return remainderOf(
    text,
    [...certain, ...ifHeld].toSorted((a, b) => a.start - b.start),
  )
}

/** Allowed rows, without those of documents in which a passage of exactly the provision is withdrawn. */
function supportingRows(held: readonly Held[], provision: boolean, reach: Visibility): readonly Held[] {
  const exact = provision ? held.filter(({ nearness }) => nearness === NEARNESS.exact) : []
  const incomplete = new Set(exact.flatMap(({ rows }) => [...rows].filter(reach.withdrawn).map(reach.document)))
  const supports = (row: number): boolean => reach.allowed(row) && !incomplete.has(reach.document(row))
  return held.map(({ rows, nearness }) => ({ rows: rows.filter(supports), nearness }))
}

function reasonOf(held: readonly Held[], reach: Visibility): UnsupportedReference['reason'] {
  if (held.some(({ rows }) => rows.some(reach.withdrawn))) return 'withdrawn'
  return held.length > 0 ? 'outside_filters' : 'not_in_corpus'
}

/** Whether an entitled passage holds the provision; without an act, those of one document alone. */
function isHeldClearly(reference: Reference, index: ReferencesReader, reach: Visibility): boolean {
  const { held } = firstHeld(readings(reference, index), index, reach)
  if (reference.act !== undefined) return held.length > 0
  return new Set(held.flatMap(({ rows }) => [...rows].map(reach.document))).size === 1
}

function remainderOf(query: string, references: readonly ExplicitReference[]): string {
  let [rest, from] = ['', 0]
  for (const { start, end } of references) {
    rest += `${query.slice(from, Math.max(from, start))} `
    from = Math.max(from, end)
  }
  return rest + query.slice(from)
}

function distinct(references: readonly ExplicitReference[]): readonly ExplicitReference[] {
  const byForm = new Map<string, ExplicitReference>()
  for (const each of references) {
    const form = canonicalReference(each.reference)
    if (!byForm.has(form) && byForm.size < EXPLICIT_REFERENCES_MAX) byForm.set(form, each)
  }
  return [...byForm.values()]
}

/**
 * The reference and its alternative reading. Without an act, `A6.4` may refer to an appendix of a rulebook. If no
 * passage of an act states its chapter (part, title), the corpus cannot resolve a chapter. The reference then counts as
 * one to the act.
 */
function readings(reference: Reference, index: ReferencesReader): readonly Reference[] {
  const other = otherReading(reference, index)
  return other === undefined ? [reference] : [reference, other]
}

function otherReading({ act, path }: Reference, index: ReferencesReader): Reference | undefined {
  const [first = '', ...parts] = path
  if (act === undefined) return /^a\d/.test(first) ? { act, path: [`app${first.slice(1)}`, ...parts] } : undefined
  const kind = /^(chapter|part|title)-/.exec(first)?.[1]
  return kind === undefined || index.holds(`${act}#${kind}-`) ? undefined : { act, path: [] }
}

function firstHeld(references: readonly Reference[], index: ReferencesReader, reach: Visibility) {
  for (const reference of references) {
    const held = heldRows(reference, index, reach)
    if (held.length > 0) return { held, provision: reference.path.length > 0 }
  }
  return { held: [], provision: false }
}

/** Rows with the same nearness to a reference. */
interface Held {
  readonly rows: Uint32Array
  readonly nearness: Nearness
}

/** Entitled rows under a reference, nearest first; if there are none, rows of the enclosing provision. */
function heldRows(reference: Reference, index: ReferencesReader, reach: Visibility): readonly Held[] {
  const form = canonicalReference(reference)
  const held = [
    { rows: index.rowsOf(form).filter(reach.entitled), nearness: NEARNESS.exact },
    { rows: index.rowsOfParts(form).filter(reach.entitled), nearness: NEARNESS.part },
  ].filter(({ rows }) => rows.length > 0)
  if (held.length > 0) return held
  const around = aroundRows(reference, index, reach)
  return around.length === 0 ? [] : [{ rows: around, nearness: NEARNESS.enclosing }]
}

/**
 * Rows of the nearest enclosing provision that the corpus holds: its own passages that mark the missing parts. If one
 * letter alone is missing, passages of its parts that mark it count too, because people omit levels (8.3.1(b) for
 * 8.3.1(1)(b)).
 */
function aroundRows(reference: Reference, index: ReferencesReader, { entitled, text }: Visibility): Uint32Array {
  for (const ancestor of ancestorsOf(reference)) {
    if (ancestor.path.length === 0) break
    const form = canonicalReference(ancestor)
    const [own, ofParts] = [index.rowsOf(form).filter(entitled), index.rowsOfParts(form).filter(entitled)]
    if (own.length + ofParts.length === 0) continue
    const missing = reference.path.slice(ancestor.path.length)
    const isLetter = missing.length === 1 && /^\p{L}/u.test(missing[0] ?? '')
    const rows = [own, isLetter ? ofParts : ofParts.subarray(0, 0)].flatMap((each) => [
      ...each.subarray(0, AROUND_ROWS_MAX),
    ])
    return Uint32Array.from(textsMarking(rows.map(text), missing), (position) => rows[position] ?? 0)
  }
  return new Uint32Array(0)
}

function addRows(rows: Map<number, NamedBy>, found: Uint32Array, by: NamedBy): void {
  for (const row of found.subarray(0, NAMED_ROWS_MAX)) {
    const known = rows.get(row)
    if (known === undefined || by.nearness < known.nearness) rows.set(row, by)
  }
}

/** At most `NAMED_ROWS_MAX` rows. Ties in nearness are broken by row, so every replica keeps the same rows. */
function nearestRows(rows: ReadonlyMap<number, NamedBy>): ReadonlyMap<number, NamedBy> {
  if (rows.size <= NAMED_ROWS_MAX) return rows
  return new Map(
    [...rows].sort(([rowA, a], [rowB, b]) => a.nearness - b.nearness || rowA - rowB).slice(0, NAMED_ROWS_MAX),
  )
}

/**
 * Returns the positions, from 0, of the texts that mark the innermost part; empty unless every part is marked in some
 * text. A mark is the label that drafters put before a part: `(f)` or `f)` after white space, or `1.` at the start of a
 * line. `Article 6(1)(f)` within a sentence is not a mark.
 * @param texts the passages of one provision; they may be one text split for length.
 * @param parts outermost first, at least one.
 */
export function textsMarking(texts: readonly string[], parts: readonly string[]): readonly number[] {
  const marked = parts.map((part) => {
    const mark = markOf(part)
    return texts.flatMap((text, position) => (mark.test(text) ? [position] : []))
  })
  return marked.every((positions) => positions.length > 0) ? (marked.at(-1) ?? []) : []
}

function markOf(part: string): RegExp {
  const literal = part.replaceAll(/[^\p{L}\p{N}]/gu, (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`)
  const [bracketed, afterBrackets, pointed] = [
    `(?:^|\\s)\\(?${literal}\\)`,
    `^[^\\S\\n]*(?:\\([^()\\s]{1,8}\\)){1,8}\\(?${literal}\\)`,
    `^[^\\S\\n]*${literal}\\.\\s`,
  ]
  return new RegExp(`${bracketed}|${afterBrackets}|${pointed}`, 'imu')
}
