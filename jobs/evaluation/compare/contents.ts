import { rm } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { openVersionDifferences } from '#core/db/version-differences.ts'
import type { HeldReference, RevisionEntry, Side, VersionDifferences } from '#core/db/version-differences.ts'
import type { Facets } from '#core/index/facets/layout.ts'
import type { PassageLine } from '#core/index/passages/records.ts'
import { COMPARISON_BOUNDS } from './bounds.ts'
import type { DocumentChange, NamedChange, ReferenceChange } from './changes-file.ts'
import { openComparedPassages, type ComparedContents, type ComparedPassages } from './compared-passages.ts'
import { isProvisionOfAct, namesOf, primaryLanguage } from './repeated-passages.ts'
import { provisionChanges } from './provision-changes.ts'
import type { ChangesRecorder } from './recorder.ts'
import { servedDigest } from './served-fields.ts'
import { createRowInputs, type RowInputs } from './tables.ts'
import { verifiedQueryExpansionsIn } from '#core/index/query-expansions/reader.ts'
import { unlessDamaged } from '#jobs/evaluation/altered-candidate.ts'

export interface ContentsComparison {
  readonly before: ComparedContents
  readonly after: ComparedContents
  /** Where the passages of both are sorted; removed at the end. */
  readonly sortFile: string
  readonly recorder: ChangesRecorder
  readonly signal: AbortSignal
  readonly onProgress: (done: number, total: number) => void
}

/** What the rows of both versions are made from. */
export type BothInputs = Readonly<Record<Side, RowInputs>>

/**
 * Compares what the passages of two versions hold: facet values, documents, provisions, passages, references and
 * snapshots. Memory does not grow with the number of passages. The same two artifacts give the same changes.
 * @throws OperatorError if an artifact is not, or is no longer, what its signed manifest states.
 */
export async function compareContents(input: ContentsComparison): Promise<BothInputs> {
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
    const before = await readPassages('before', passages, differences, input)
    const after = await readPassages('after', passages, differences, input)
    for (const side of ['before', 'after'] as const)
      await readSearchQuestions(side, input[side], differences, input.signal)
    await nameChanges(differences, passages, input)
    return { before, after }
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
): Promise<RowInputs> {
  const { before, after, recorder } = input
  const total = before.manifest.passages + after.manifest.passages
  const already = side === 'before' ? 0 : before.manifest.passages
  const inputs = createRowInputs()
  recorder.hold('passages', side, input[side].manifest.passages)
  let read = 0
  let last = ''
  for await (const { passage, from, bytes } of passages[side].all()) {
    inputs.add(passage)
    last = addPassage(differences, side, { passage, from, bytes }, last)
    read++
    if (read % COMPARISON_BOUNDS.comparisonYieldEveryRows === 0) {
      input.onProgress(already + read, total)
      input.signal.throwIfAborted()
      await nextTurn()
    }
  }
  return inputs.finish()
}

/**
 * @param last the header that was added last: passages of one revision mostly stand together.
 * @returns the header of this passage.
 */
function addPassage(differences: VersionDifferences, side: Side, { passage, from, bytes }: PassageLine, last: string) {
  const { document, metadata, citation, references, provision, in_force_from: day, in_force_to: until } = passage
  const key = { document: document.id, language: metadata.language, provision, day }
  const snapshot = citation.source_snapshot_id
  differences.addPassage({ ...key, until, content: servedDigest(passage), side, from, bytes, snapshot })
  if (side === 'before') {
    const { within, anywhere } = namesOf(passage)
    for (const name of [...within, ...anywhere]) differences.addName(name, key)
  }
  for (const reference of references.filter(isProvisionOfAct))
    differences.addReference(side, `${primaryLanguage(key.language)} ${reference}`, { ...key, label: citation.label })
  const { title, authority, canonical_url, published_at, effective_at } = document
  const revision = { language: key.language, day, title, authority, canonical_url, published_at, effective_at }
  const header = JSON.stringify([document.id, revision])
  if (header !== last) differences.addRevision(side, document.id, revision)
  return header
}

async function nameChanges(differences: VersionDifferences, passages: BothPassages, input: ContentsComparison) {
  let steps = 0
  for (const change of changesOf(differences, passages, input)) {
    steps++
    if (steps % COMPARISON_BOUNDS.comparisonYieldEveryRows === 0) {
      input.signal.throwIfAborted()
      await nextTurn()
    }
    if (change !== undefined) await input.recorder.record(change)
  }
}

/** Yields every change, and undefined where there was none, so that the caller can give the event loop a turn. */
function* changesOf(
  differences: VersionDifferences,
  passages: BothPassages,
  { before, after, recorder }: ContentsComparison,
): Generator<NamedChange | undefined> {
  yield* facetChanges(before.facets, after.facets)
  yield* documentChanges(differences, (side) => recorder.hold('documents', side))
  yield* provisionChanges(differences, passages, (side) => recorder.hold('provisions', side))
  yield* referenceChanges(differences)
  yield* searchQuestionChanges(differences)
}

function* facetChanges(before: Facets, after: Facets): Generator<NamedChange> {
  for (const facet of ['languages', 'jurisdictions', 'subjects', 'statuses'] as const) {
    const kept: ReadonlySet<string> = new Set(after[facet])
    for (const value of before[facet].toSorted())
      if (!kept.has(value)) yield { kind: 'facet_values_removed', facet, value }
  }
}

/**
 * Yields the references that the active version holds and that lead to other provisions in the candidate. A reference
 * that only lost provisions that the candidate does not hold is left out: each of them is a removed provision.
 */
function* referenceChanges(differences: VersionDifferences): Generator<ReferenceChange | undefined> {
  let group: HeldReference[] = []
  for (const entry of differences.references()) {
    if (group[0] !== undefined && group[0].reference !== entry.reference) {
      yield changeOf(group)
      group = []
    }
    group.push(entry)
  }
  if (group.length > 0) yield changeOf(group)
}

function changeOf(group: readonly HeldReference[]): ReferenceChange | undefined {
  if (group.every(({ after, kept }) => !after && !kept)) return undefined
  const reference = group[0]?.reference ?? ''
  return {
    kind: 'references_changed',
    // The primary language stands before it.
    reference: reference.slice(reference.indexOf(' ') + 1),
    lost: group.filter(({ before }) => before).map(placeOf),
    gained: group.filter(({ after }) => after).map(placeOf),
  }
}

function placeOf({ document, language, provision, label }: HeldReference) {
  return { document, language, provision, label }
}

/** Reads the search questions of one side. @throws OperatorError if the file is not the one of the signed manifest. */
async function readSearchQuestions(
  side: Side,
  { folder, versionId, manifest }: ComparedContents,
  differences: VersionDifferences,
  signal: AbortSignal,
): Promise<void> {
  await unlessDamaged(side, versionId, async () => {
    for await (const { id, lang, q } of verifiedQueryExpansionsIn(folder, manifest.files['search-questions.jsonl'])) {
      signal.throwIfAborted()
      differences.addQueryExpansion(side, { passage: id, language: lang, text: q })
    }
  })
}

/** Yields every search question that only one of the versions holds: each decides what is found. */
function* searchQuestionChanges(differences: VersionDifferences): Generator<NamedChange> {
  for (const { side, passage, language, text } of differences.queryExpansions())
    yield {
      kind: 'search_questions_changed',
      passage,
      language,
      before: side === 'before' ? text : null,
      after: side === 'after' ? text : null,
    }
}

/**
 * Yields the documents that were removed, changed or added, by id. A document is changed if a revision that the active
 * version holds has another title, authority, URL or date in the candidate, or is not there. A new revision beside them
 * changes provisions, not the document.
 * @param hold is called for each document that a version holds.
 */
function* documentChanges(
  differences: VersionDifferences,
  hold: (side: Side) => void,
): Generator<DocumentChange | undefined> {
  for (const { document, before, after } of differences.documents()) {
    if (before) hold('before')
    if (after) hold('after')
    if (!after) yield { kind: 'documents_removed', document: documentName(differences, document, 'before') }
    else if (!before) yield { kind: 'documents_added', document: documentName(differences, document, 'after') }
    else yield changed(differences, document)
  }
}

function changed(differences: VersionDifferences, document: string): DocumentChange | undefined {
  const { first, total } = differences.lostRevisions(document)
  if (total === 0) return undefined
  const revisions = first.map((revision) => {
    const { language, day } = revision
    const after = differences.revisionOn(document, revision)
    return {
      language,
      day,
      before: revisionHeader(revision),
      after: after === undefined ? null : revisionHeader(after),
    }
  })
  return {
    kind: 'documents_changed',
    document: documentName(differences, document, 'before'),
    revisions,
    revisions_total: total,
  }
}

function documentName(differences: VersionDifferences, id: string, side: Side): DocumentChange['document'] {
  const { title = '', canonical_url = '' } = differences.newest(side, id) ?? {}
  return { id, title, canonical_url }
}

function revisionHeader({ language: _language, day: _day, ...rest }: RevisionEntry) {
  return rest
}
