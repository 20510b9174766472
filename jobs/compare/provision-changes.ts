import type { PassageEntry, Side, VersionDifferences } from '#core/db/version-differences.ts'
import type { PassagesReader } from '#core/index/passages/reader.ts'
import { passageRecordSchema } from '#core/index/passages/record.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import type { NamedChange, PassageChange } from './changes-file.ts'
import { differingFields, fieldsNamed } from './served-fields.ts'

type Readers = Readonly<Record<Side, PassagesReader>>

/** A passage that one version holds, or that both hold with other content. */
interface Difference {
  readonly key: PassageEntry
  readonly before: number | undefined
  readonly after: number | undefined
}

/** One provision in one language, over all its revisions. A part of a provision that was cut counts as one. */
interface ComparedProvision {
  readonly before: boolean
  readonly after: boolean
  readonly differences: readonly Difference[]
}

/**
 * Yields the passages and provisions that were removed, changed or added, by key. A provision that both versions hold
 * is changed if any of its passages was removed, changed or added: a reader gets another text on some day.
 * @param hold is told of each provision that a version holds.
 */
export function* provisionChanges(
  differences: VersionDifferences,
  readers: Readers,
  hold: (side: Side) => void,
): Generator<NamedChange | undefined> {
  for (const provision of provisionsOf(differences.passages())) {
    if (provision.before) hold('before')
    if (provision.after) hold('after')
    const [first] = provision.differences
    if (first === undefined) {
      yield undefined
      continue
    }
    for (const difference of provision.differences) yield passageChange(difference, readers)
    const { document, language, provision: id, label } = passageChange(first, readers)
    const kind = provision.after ? (provision.before ? 'provisions_changed' : 'provisions_added') : 'provisions_removed'
    yield { kind, document, language, provision: id, label }
  }
}

function* provisionsOf(passages: Iterable<PassageEntry>): Generator<ComparedProvision> {
  let group: ReturnType<typeof createProvision> | undefined
  for (const entry of passages) {
    if (group === undefined || !group.has(entry)) {
      if (group !== undefined) yield group.close()
      group = createProvision(entry)
    }
    group.add(entry)
  }
  if (group !== undefined) yield group.close()
}

/** Collects the passages of one provision, which come by day and content. Only the rows that differ are kept. */
function createProvision(first: PassageEntry): {
  has(entry: PassageEntry): boolean
  add(entry: PassageEntry): void
  close(): ComparedProvision
} {
  const held = { before: false, after: false }
  const differences: Difference[] = []
  let key = first
  let rows: UnmatchedRows = createUnmatchedRows()
  function closeDay(): void {
    for (const pair of rows.pairs()) differences.push({ key, ...pair })
  }
  return {
    has: ({ document, language, provision }) =>
      document === first.document && language === first.language && provision === first.provision,
    add(entry) {
      held[entry.side] = true
      if (entry.day !== key.day) {
        closeDay()
        rows = createUnmatchedRows()
      }
      key = entry
      rows.add(entry)
    },
    close() {
      closeDay()
      return { ...held, differences }
    },
  }
}

interface UnmatchedRows {
  add(entry: PassageEntry): void
  pairs(): readonly Omit<Difference, 'key'>[]
}

/**
 * Matches the passages of one key. Equal content is matched first, however often a version holds it. What remains is
 * paired in row order as changed; the rest was removed or added.
 */
function createUnmatchedRows(): UnmatchedRows {
  const unmatched = { before: new Array<number>(), after: new Array<number>() }
  let content: Uint8Array = new Uint8Array()
  let waiting: number[] = []
  function settle(): void {
    for (const row of waiting) unmatched.before.push(row)
    waiting = []
  }
  return {
    add({ content: own, side, row }) {
      if (Buffer.compare(own, content) !== 0) settle()
      content = own
      if (side === 'before') waiting.push(row)
      else if (waiting.pop() === undefined) unmatched.after.push(row)
    },
    pairs() {
      settle()
      const [before, after] = [unmatched.before, unmatched.after].map((rows) => rows.sort((a, b) => a - b))
      const length = Math.max(before?.length ?? 0, after?.length ?? 0)
      return Array.from({ length }, (_, at) => ({ before: before?.[at], after: after?.[at] }))
    },
  }
}

function passageChange({ key, before, after }: Difference, readers: Readers): PassageChange {
  const own = before === undefined ? undefined : read(readers.before, before)
  const other = after === undefined ? undefined : read(readers.after, after)
  const shown = own ?? other
  if (shown === undefined) throw new Error('a difference names no passage')
  const { document, citation, metadata, provision } = shown
  const place = {
    document: { id: document.id, title: document.title, canonical_url: document.canonical_url },
    language: metadata.language,
    provision,
    day: key.day,
    label: citation.label,
  }
  if (own === undefined) return { kind: 'passages_added', ...place, after: { text: extract(shown.text) } }
  if (other === undefined) return { kind: 'passages_removed', ...place, before: { text: extract(shown.text) } }
  const names = differingFields(own, other)
  return { kind: 'passages_changed', ...place, before: fieldsNamed(own, names), after: fieldsNamed(other, names) }
}

function read(reader: PassagesReader, row: number): PassageRecord {
  return passageRecordSchema.parse(reader.passage(row))
}

function extract(text: string): string {
  const characters = Array.from(text.slice(0, 2 * BOUNDS.changeExtractCharactersMax))
  return characters.length <= BOUNDS.changeExtractCharactersMax
    ? text
    : `${characters.slice(0, BOUNDS.changeExtractCharactersMax).join('')}…`
}
