import type { PassageEntry, Side, VersionDifferences } from '#core/db/version-differences.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { COMPARISON_BOUNDS } from './bounds.ts'
import type { NamedChange, PassageChange } from './changes-file.ts'
import type { ComparedPassages } from './compared-passages.ts'
import { createRepeatedPassages, type RepeatedPassages } from './repeated-passages.ts'
import { differingFields, fieldsNamed } from './served-fields.ts'

type Readers = Readonly<Record<Side, Pick<ComparedPassages, 'again'>>>

/** A passage that one version holds, or that both hold with other content. */
interface Difference {
  readonly key: PassageEntry
  readonly before: PassageEntry | undefined
  readonly after: PassageEntry | undefined
}

type Moved = Readonly<Record<Side, PassageEntry>>

/**
 * Yields the passages and provisions that were removed, changed or added, by key. A provision that both versions hold
 * is changed if any of its passages was removed, changed or added: a reader gets another text on some day.
 * @param hold is called for each provision that a version holds.
 */
export function* provisionChanges(
  differences: VersionDifferences,
  readers: Readers,
  hold: (side: Side) => void,
): Generator<NamedChange | undefined> {
  const repeated = createRepeatedPassages(differences)
  const snapshots = createSnapshotChanges(readers)
  for (const provision of provisionsOf(differences.passages())) {
    for (const moved of provision.moved) yield* snapshots.add(moved)
    if (provision.before) hold('before')
    if (provision.after) hold('after')
    let first: PassageChange | undefined
    for (const difference of provision.differences) {
      const change = passageChange(difference, readers, repeated)
      first ??= change
      yield change
    }
    if (first === undefined) {
      yield undefined
      continue
    }
    const { document, language, provision: id, label } = first
    const kind = provision.after ? (provision.before ? 'provisions_changed' : 'provisions_added') : 'provisions_removed'
    yield { kind, document, language, provision: id, label }
  }
  yield* snapshots.close()
}

/** Counts passages that only their snapshot tells apart, by document and snapshots. */
function createSnapshotChanges(readers: Readers) {
  const counts = new Map<string, Moved & { count: number }>()
  let document = ''
  function* close(): Generator<NamedChange> {
    for (const { before, after, count } of counts.values()) {
      const { citation, document: held } = readers.after.again(after)
      const { id, title, canonical_url } = held
      yield {
        kind: 'snapshots_changed',
        document: { id, title, canonical_url },
        label: citation.label,
        passages: count,
        before: before.snapshot,
        after: after.snapshot,
      }
    }
    counts.clear()
  }
  return {
    /** Yields those of the document before. */
    *add(moved: Moved): Generator<NamedChange> {
      if (moved.after.document !== document) yield* close()
      ;({ document } = moved.after)
      const key = `${moved.before.snapshot} ${moved.after.snapshot}`
      const known = counts.get(key)
      if (known === undefined) counts.set(key, { ...moved, count: 1 })
      else known.count++
    },
    close,
  }
}

function* provisionsOf(passages: Iterable<PassageEntry>) {
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

/**
 * Collects the passages of one provision in one language, over all its revisions, which come by day and content. Only
 * the rows that differ are kept. A part of a provision that was cut counts as one.
 */
function createProvision(first: PassageEntry) {
  const held = { before: false, after: false }
  const differences: Difference[] = []
  const moved: Moved[] = []
  let key = first
  let rows = createUnmatchedRows(moved)
  function closeDay(): void {
    for (const pair of rows.pairs()) differences.push({ key, ...pair })
  }
  return {
    has: ({ document, language, provision }: PassageEntry) =>
      document === first.document && language === first.language && provision === first.provision,
    add(entry: PassageEntry) {
      held[entry.side] = true
      if (entry.day !== key.day) {
        closeDay()
        rows = createUnmatchedRows(moved)
      }
      key = entry
      rows.add(entry)
    },
    /** `moved`: passages with equal content, from another snapshot. */
    close() {
      closeDay()
      return { ...held, differences, moved }
    },
  }
}

/**
 * Matches the passages of one key. Equal content is matched first, however often a version holds it. What remains is
 * paired in row order as changed; the rest was removed or added.
 * @param moved gets the matched passages whose snapshots differ.
 */
function createUnmatchedRows(moved: Moved[]) {
  const unmatched = { before: new Array<PassageEntry>(), after: new Array<PassageEntry>() }
  let content: Uint8Array = new Uint8Array()
  let waiting: PassageEntry[] = []
  function settle(): void {
    for (const entry of waiting) unmatched.before.push(entry)
    waiting = []
  }
  return {
    add(entry: PassageEntry) {
      if (Buffer.compare(entry.content, content) !== 0) settle()
      content = entry.content
      if (entry.side === 'before') {
        waiting.push(entry)
        return
      }
      const before = waiting.pop()
      if (before === undefined) unmatched.after.push(entry)
      else if (before.snapshot !== entry.snapshot) moved.push({ before, after: entry })
    },
    pairs() {
      settle()
      const [before, after] = [unmatched.before, unmatched.after].map((rows) => rows.sort((a, b) => a.from - b.from))
      const length = Math.max(before?.length ?? 0, after?.length ?? 0)
      return Array.from({ length }, (_, at) => ({ before: before?.[at], after: after?.[at] }))
    },
  }
}

function passageChange(
  { key, before, after }: Difference,
  readers: Readers,
  repeated: RepeatedPassages,
): PassageChange {
  const own = before === undefined ? undefined : readers.before.again(before)
  const other = after === undefined ? undefined : readers.after.again(after)
  const shown = own ?? other
  if (shown === undefined) throw new Error('a difference names no passage')
  const { document, citation, metadata, provision } = shown
  const identity = {
    document: { id: document.id, title: document.title, canonical_url: document.canonical_url },
    language: metadata.language,
    provision,
    day: key.day,
    label: citation.label,
  }
  const original = own === undefined && after !== undefined ? repeated.original(after, shown) : undefined
  if (original !== undefined) return { ...identity, ...beside(readers.before.again(original), shown) }
  if (own === undefined) return { kind: 'passages_added', ...identity, after: { text: extract(shown.text) } }
  if (other === undefined) return { kind: 'passages_removed', ...identity, before: { text: extract(shown.text) } }
  const names = differingFields(own, other)
  return { kind: 'passages_changed', ...identity, before: fieldsNamed(own, names), after: fieldsNamed(other, names) }
}

function beside(original: PassageRecord, { text }: PassageRecord) {
  const { provision, citation, in_force_from: day } = original
  const repeats = { provision, day, label: citation.label }
  return { kind: 'passages_repeated' as const, repeats, before: { text: original.text }, after: { text } }
}

function extract(text: string): string {
  const characters = Array.from(text.slice(0, 2 * COMPARISON_BOUNDS.changeExtractCharactersMax))
  return characters.length <= COMPARISON_BOUNDS.changeExtractCharactersMax
    ? text
    : `${characters.slice(0, COMPARISON_BOUNDS.changeExtractCharactersMax).join('')}…`
}
