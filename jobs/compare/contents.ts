import { rm } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ChangeKind, Changes } from '#core/domain/changes.ts'
import { SIDES, openVersionDifferences } from '#core/db/version-differences.ts'
import type { Side, VersionDifferences } from '#core/db/version-differences.ts'
import type { Facets } from '#core/index/facets/layout.ts'
import { COMPARISON_BOUNDS } from './bounds.ts'
import { openChangesFile } from './changes-file.ts'
import type { NamedChange } from './changes-file.ts'
import { openComparedPassages } from './compared-passages.ts'
import type { ComparedContents, ComparedPassages } from './compared-passages.ts'
import { documentChanges } from './document-changes.ts'
import { changesToShow } from './changes-to-show.ts'
import { namesOf } from './repeated-passages.ts'
import { provisionChanges } from './provision-changes.ts'
import { servedDigest } from './served-fields.ts'

export interface ContentsComparison {
  readonly before: ComparedContents
  readonly after: ComparedContents
  /** Where the passages of both are sorted; removed at the end. */
  readonly sortFile: string
  /** Where every change is named, one a line. */
  readonly changesFile: string
  readonly signal: AbortSignal
  readonly onProgress: (done: number, total: number) => void
}

export interface ComparedChanges {
  readonly changes: Changes
  /** The changes that the evaluation page shows. */
  readonly shown: readonly NamedChange[]
}

/**
 * Compares what two versions hold: facet values, documents, provisions and passages. Memory does not grow with the
 * number of passages. The same two artifacts give the same bytes of the changes file.
 * @throws OperatorError if an artifact is not, or is no longer, what its signed manifest states.
 */
export async function compareContents(input: ContentsComparison): Promise<ComparedChanges> {
  await rm(input.sortFile, { force: true })
  const differences = openVersionDifferences(input.sortFile)
  const opened: ComparedPassages[] = []
  const open = (side: Side): ComparedPassages => {
    const passages = openComparedPassages(side, input[side])
    opened.push(passages)
    return passages
  }
  try {
    const passages = { before: open('before'), after: open('after') }
    for (const side of SIDES) await readPassages(side, passages, differences, input)
    return await nameChanges(differences, passages, input)
  } finally {
    for (const each of opened) each.close()
    differences.close()
    await rm(input.sortFile, { force: true })
  }
}

type BothPassages = Readonly<Record<Side, ComparedPassages>>

async function readPassages(
  side: Side,
  passages: BothPassages,
  differences: VersionDifferences,
  input: ContentsComparison,
): Promise<void> {
  const total = input.before.passages + input.after.passages
  const already = side === 'before' ? 0 : input.before.passages
  let read = 0
  let last = ''
  for await (const { passage, from, bytes } of passages[side].all()) {
    const { document, metadata, provision, in_force_from: day, in_force_to: until } = passage
    const key = { document: document.id, language: metadata.language, provision, day }
    differences.addPassage({ ...key, until, content: servedDigest(passage), side, from, bytes })
    if (side === 'before') for (const name of namesOf(passage)) differences.addName(name, key)
    const { title, authority, canonical_url, published_at, effective_at } = document
    const revision = { language: key.language, day, title, authority, canonical_url, published_at, effective_at }
    // Passages of one revision mostly stand together.
    const header = JSON.stringify([document.id, revision])
    if (header !== last) differences.addRevision(side, document.id, revision)
    last = header
    read++
    if (read % COMPARISON_BOUNDS.comparisonYieldEveryRows === 0) {
      input.onProgress(already + read, total)
      input.signal.throwIfAborted()
      await nextTurn()
    }
  }
}

async function nameChanges(
  differences: VersionDifferences,
  passages: BothPassages,
  input: ContentsComparison,
): Promise<ComparedChanges> {
  const tally = createTally(input)
  const shown = changesToShow(COMPARISON_BOUNDS.changesShownMax)
  const file = await openChangesFile(input.changesFile)
  try {
    let steps = 0
    for (const change of changesOf(differences, passages, input, tally)) {
      steps++
      if (steps % COMPARISON_BOUNDS.comparisonYieldEveryRows === 0) {
        input.signal.throwIfAborted()
        await nextTurn()
      }
      if (change === undefined) continue
      tally.count(change.kind)
      shown.offer(change)
      await file.append(change)
    }
    return { changes: { ...tally.counted(), sha256: await file.finish() }, shown: shown.first() }
  } finally {
    await file.abandon()
  }
}

/** Yields every change, and undefined where there was none, so that the caller can give the event loop a turn. */
function* changesOf(
  differences: VersionDifferences,
  passages: BothPassages,
  input: ContentsComparison,
  tally: Tally,
): Generator<NamedChange | undefined> {
  yield* facetChanges(input.before.facets, input.after.facets)
  yield* documentChanges(differences, (side) => tally.hold('documents', side))
  yield* provisionChanges(differences, passages, (side) => tally.hold('provisions', side))
}

function* facetChanges(before: Facets, after: Facets): Generator<NamedChange> {
  for (const facet of ['languages', 'jurisdictions', 'subjects', 'statuses'] as const) {
    const kept: ReadonlySet<string> = new Set(after[facet])
    for (const value of before[facet].toSorted())
      if (!kept.has(value)) yield { kind: 'facet_values_removed', facet, value }
  }
}

interface Tally {
  hold(unit: 'documents' | 'provisions', side: Side): void
  count(kind: NamedChange['kind']): void
  counted(): Omit<Changes, 'sha256'>
}

function createTally({ before, after }: ContentsComparison): Tally {
  const held = {
    before: { documents: 0, provisions: 0, passages: before.passages },
    after: { documents: 0, provisions: 0, passages: after.passages },
  }
  const counts = new Map<NamedChange['kind'], number>()
  const of = (kind: NamedChange['kind']): number => counts.get(kind) ?? 0
  return {
    hold: (unit, side) => void held[side][unit]++,
    count: (kind) => void counts.set(kind, of(kind) + 1),
    counted: () => ({
      ...held,
      added: {
        documents: of('documents_added'),
        provisions: of('provisions_added'),
        passages: of('passages_added') + of('passages_repeated'),
      },
      counts: {
        documents_removed: of('documents_removed'),
        documents_changed: of('documents_changed'),
        provisions_removed: of('provisions_removed'),
        provisions_changed: of('provisions_changed'),
        passages_removed: of('passages_removed'),
        passages_changed: of('passages_changed'),
        passages_repeated: of('passages_repeated'),
        facet_values_removed: of('facet_values_removed'),
      } satisfies Record<ChangeKind, number>,
    }),
  }
}
