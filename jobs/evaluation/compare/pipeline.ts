import { rm } from 'node:fs/promises'
import { CHANGE_KINDS, kindsBeyond, limitOf, type ChangeLimits, type Changes } from '#core/domain/changes.ts'
import type { ProfileParameters } from '#core/domain/retrieval-profile.ts'
import type { ArtifactError } from '#core/index/artifact-error.ts'
import type { Facets } from '#core/index/facets/layout.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import type { AskRecordsContext } from '#jobs/evaluation/ask.ts'
import type { Gate } from '#jobs/evaluation/page/evaluation-report.ts'
import { readQuestionSet, type QueryWithQrels } from '#jobs/evaluation/questions.ts'
import { withSourceIds } from '#jobs/evaluation/source-ids.ts'
import { COMPARISON_BOUNDS } from './bounds.ts'
import { signedContents, type ActiveVersion } from './active-version.ts'
import { compareAnswers, comparisonQuestions, type EvaluatedQuestions } from './answers.ts'
import type { NamedChange } from './changes-file.ts'
import { compareContents } from './contents.ts'
import { damagedArtifact, unlessDamaged } from '#jobs/evaluation/altered-candidate.ts'
import type { ComparedContents } from './compared-passages.ts'
import type { Side } from '#core/db/version-differences.ts'
import { sourcesIn } from '#core/index/passages/sources.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { namedVersion } from '#law/sources/git/clone.ts'
import { openChangesRecorder } from './recorder.ts'
import { keysOf } from './served-fields.ts'
import { aliasChanges, readActs, tableChanges } from './tables.ts'
import { canonicalJson } from '#core/platform/digest.ts'
import type { GoneCommits } from '#law/sources/capture.ts'
import type { EmbeddingSpace } from '#core/index/format/manifest.ts'
import FITTED from './fitted-settings.json' with { type: 'json' }

/** Where the comparison reads and writes, and the limits that it applies. */
export interface ComparisonSettings {
  /** Reads the version that is active now; undefined: none. */
  readonly readActive: () => Promise<ActiveVersion | undefined>
  readonly publicKeysDer: Parameters<typeof signedContents>[3]
  /** A file in which the passages of both versions are sorted. */
  readonly sortFile: string
  readonly changeLimits: ChangeLimits
  /** Of the candidate's import; undefined: it does not say. */
  readonly gone?: GoneCommits | undefined
}

export interface ComparedCandidate {
  readonly versionId: string
  /** SHA-256 of its manifest. */
  readonly manifestDigest: Buffer
  readonly facets: Facets
  /** The profile with which it would be served. */
  readonly profile: ProfileParameters
  /** SHA-256 of its question set; undefined: it was evaluated with known items. */
  readonly questionSet: string | undefined
  readonly evaluated: EvaluatedQuestions
  /** Number of passages that each question asks for. */
  readonly limit: number
  readonly context: AskRecordsContext
}

export type Compared = Awaited<ReturnType<typeof compareWith>>

/**
 * Compares the candidate with the active version: what was lost or changed, and how it ranks. Every candidate that has
 * a predecessor is compared; what cannot be compared is an error. If another version becomes active meanwhile, the
 * candidate is compared with that one, once.
 * @returns null if no version is active.
 * @throws OperatorError where the comparison is impossible; NoSearchNodeError where it is impossible for now.
 */
export async function compareWithActive(
  candidate: ComparedCandidate,
  settings: ComparisonSettings,
  store: ArtifactStore,
): Promise<Compared | null> {
  // An earlier run may have left a comparison with another version.
  await rm(store.changesFile(candidate.versionId), { force: true })
  let active = await settings.readActive()
  for (let round = 1; ; round++) {
    const compared = active === undefined ? null : await compareWith(active, candidate, settings, store)
    const now = await settings.readActive()
    if (now?.versionId === active?.versionId || round === COMPARISON_BOUNDS.comparisonRoundsMax) return compared
    active = now
  }
}

/** @returns `shown`: the changes that the page shows. */
async function compareWith(
  active: ActiveVersion,
  candidate: ComparedCandidate,
  { publicKeysDer, sortFile, changeLimits, gone }: ComparisonSettings,
  store: ArtifactStore,
) {
  const { limit, profile, context, evaluated } = candidate
  const before = await signedContents('before', active, store, publicKeysDer)
  const after = await signedContents('after', candidate, store, publicKeysDer)
  const activeSet = active.questionSet === null ? undefined : await readQuestionSet(store, active.questionSet)
  await using recorder = await openChangesRecorder(store.changesFile(candidate.versionId))
  const { signal, onProgress } = context
  for await (const change of historyChanges(before, after, gone)) await recorder.record(change)
  const inputs = await compareContents({ before, after, sortFile, recorder, signal, onProgress })
  const tables = { before: { ...before, inputs: inputs.before }, after: { ...after, inputs: inputs.after } }
  const own = candidate.questionSet === undefined ? undefined : candidate.evaluated.questions
  for (const changes of [
    tableChanges(tables.before, tables.after),
    aliasChanges(await readActs('before', before), await readActs('after', after)),
    profileChanges(
      { profile: active.profile, embedding: before.manifest.embedding },
      { profile, embedding: after.manifest.embedding },
    ),
    questionChanges(activeSet, own),
  ])
    for (const change of changes) await recorder.record(change)
  const sameSet = candidate.questionSet === active.questionSet
  const sources = { own: sameSet ? undefined : own, activeSet, active: before, day: context.day }
  const record = recorder.record.bind(recorder)
  const damaged = (error: ArtifactError): unknown => damagedArtifact('before', before.versionId, error)
  const { from, ...ranking } = await withSourceIds(
    { ...before, ...before.manifest, damaged },
    async (activeSourceIdOf, noteSourceIds) => {
      const asked = await comparisonQuestions({ ...sources, noteSourceIds })
      return await compareAnswers({ active, asked, profile, limit, evaluated, context, activeSourceIdOf, record })
    },
  )
  const { changes, shown } = await recorder.finish()
  return {
    comparison: {
      version_id: active.versionId,
      questions_from: from,
      ...ranking,
      worse_on: [...ranking.worse_on],
      changes,
    },
    changeGates: changeGates(changes, changeLimits),
    shown,
  }
}

/** A kind beyond its limit does not fail the candidate: every approval must accept it by name. */
function changeGates(changes: Changes, limits: ChangeLimits): readonly Gate[] {
  const beyond = kindsBeyond(changes, limits)
  return CHANGE_KINDS.map((kind) => ({
    group: 'changes',
    label: kind,
    value: changes.counts[kind],
    direction: 'at_most',
    bound: limitOf(kind, changes, limits),
    passed: !beyond.includes(kind),
  }))
}

type Questions = readonly QueryWithQrels[]

/**
 * Yields the questions of the active version's set that the candidate's set lacks, alters or adds.
 * @param before undefined: the active version has no question set, so there is nothing to lose. @param after undefined:
 * the candidate has none.
 */
function* questionChanges(before: Questions | undefined, after: Questions | undefined): Generator<NamedChange> {
  if (before === undefined) return
  if (after === undefined) {
    yield { kind: 'questions_changed', question: null, before: null, after: null }
    return
  }
  const [own, other] = [byId(before), byId(after)]
  for (const question of [...new Set([...own.keys(), ...other.keys()])].toSorted()) {
    const [left, right] = [own.get(question) ?? null, other.get(question) ?? null]
    if (canonicalJson(left) !== canonicalJson(right))
      yield { kind: left === null ? 'questions_added' : 'questions_changed', question, before: left, after: right }
  }
}

function byId(questions: Questions) {
  return new Map(
    questions.map(({ id, text, qrels, filters }) => [
      id,
      { text, relevant: [...qrels.keys()].toSorted(), filters: canonicalJson(filters ?? {}) },
    ]),
  )
}

interface SearchSettings {
  readonly profile: ProfileParameters
  /** Undefined: the version has no vectors. */
  readonly embedding: EmbeddingSpace | undefined
}

type Field = keyof ProfileParameters | 'rewriter_calibration' | 'reader_calibration'

/** Whether a build fits the value, so that it differs with every corpus. Answers show what it changes. */
const IS_FITTED: Readonly<Record<Field, boolean>> = FITTED

/** Yields every field of the profile and of the embedding space that differs. */
function* profileChanges(before: SearchSettings, after: SearchSettings): Generator<NamedChange> {
  for (const field of keysOf(IS_FITTED)) {
    const [own, other] = [written(settingsOf(before)[field]), written(settingsOf(after)[field])]
    if (own !== other)
      yield { kind: IS_FITTED[field] ? 'profile_fitted' : 'profile_changed', field, before: own, after: other }
  }
  const [own, other] = [written(withoutProbes(before.embedding)), written(withoutProbes(after.embedding))]
  if (own !== other) yield { kind: 'profile_changed', field: 'embedding', before: own, after: other }
}

/** They differ by rounding; embedders compare them by cosine, and refuse another model. */
function withoutProbes(space: EmbeddingSpace | undefined): Partial<EmbeddingSpace> | undefined {
  if (space === undefined) return undefined
  const { probes: _probes, ...rest } = space
  return rest
}

function settingsOf({ profile }: SearchSettings): Readonly<Record<Field, unknown>> {
  const { calibration: read = null, ...reader } = profile.reader ?? {}
  const { calibration: rewritten = null, ...rewriter } = profile.rewriter ?? {}
  return {
    ...profile,
    as_of: profile.as_of ?? null,
    passage_floor: profile.passage_floor ?? null,
    rewriter: profile.rewriter && rewriter,
    rewriter_calibration: rewritten,
    reader: profile.reader && reader,
    reader_calibration: read,
  }
}

function written(value: unknown): string | null {
  return value === undefined || value === null ? null : canonicalJson(value)
}

/**
 * Yields each repository that lacks a commit by which the active version holds a text.
 * @param gone as the import of the candidate has it; undefined: the import does not say.
 * @throws OperatorError where the import does not say whether a commit that only the active version names is gone.
 */
async function* historyChanges(
  before: ComparedContents,
  after: ComparedContents,
  gone: GoneCommits | undefined,
): AsyncGenerator<NamedChange> {
  const [own, other] = [await versionsOf('before', before), await versionsOf('after', after)]
  const [commits, kept] = [new Set(other.map(({ commit }) => commit)), new Set(other.map(({ text }) => text))]
  if (gone === undefined && own.some(({ commit }) => !commits.has(commit)))
    throw new OperatorError('The import does not say which commits are gone from its repository: capture it again.')
  const lost = own.filter(({ commit }) => gone?.[commit] !== undefined).sort((a, b) => (a.from < b.from ? -1 : 1))
  for (const [repository, texts] of Map.groupBy(lost, (one) => one.repository)) {
    const [since = ''] = texts.flatMap(({ commit }) => gone?.[commit] ?? []).sort()
    const acts = new Set(texts.flatMap(({ text, titles }) => (kept.has(text) ? [] : titles)))
    const { commit = '' } = texts[0] ?? {}
    yield { kind: 'histories_rewritten', repository, commit, texts: texts.length, since, acts: [...acts].toSorted() }
  }
}

async function versionsOf(side: Side, { folder, versionId, manifest }: ComparedContents) {
  return await unlessDamaged(side, versionId, async () => {
    const versions = []
    for await (const { source_name: name, revisions } of sourcesIn(folder, manifest.files['sources.jsonl'])) {
      const named = namedVersion(name)
      if (named !== undefined) versions.push({ ...named, titles: revisions.map(({ title }) => title) })
    }
    return versions
  })
}
