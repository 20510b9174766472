import type { Calibration } from '#core/domain/calibration.ts'
import { decideOn } from '#core/domain/decision.ts'
import type { ProfileParameters } from '#core/domain/retrieval-profile.ts'
import { spaceKey } from '#core/embedding/embedder.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { askRecords, servedMode, type AskContext, type AskRecordsContext } from '#jobs/evaluation/ask.ts'
import { compareRankings, type RankingComparison, type RankingFigures } from '#jobs/evaluation/metrics/ranking.ts'
import { outcomeOf, type Outcome } from '#jobs/evaluation/outcomes.ts'
import type { QuestionsFrom } from '#jobs/evaluation/page/evaluation-report.ts'
import type { QueryWithQrels } from '#jobs/evaluation/questions.ts'
import type { SourceIdOf, NoteSourceIds } from '#jobs/evaluation/source-ids.ts'
import { NoSearchNodeError, prepareOnLiveNodes } from '#jobs/platform/search-nodes.ts'
import type { ActiveVersion } from './active-version.ts'
import type { AnswerChange } from './changes-file.ts'
import { verifiedPassagesIn } from '#core/index/passages/records.ts'
import { sampleKnownItems } from '#jobs/evaluation/known-items.ts'
import type { ComparedContents } from './compared-passages.ts'
import { unlessDamaged } from '#jobs/evaluation/altered-candidate.ts'

export interface AnswersInput {
  readonly active: ActiveVersion
  readonly asked: readonly AskedQuestions[]
  /** The profile with which the candidate would be served. */
  readonly profile: ProfileParameters
  /** Number of passages requested; recall@100 and the set of candidates depend on it. */
  readonly limit: number
  /** What the candidate's evaluation asked it in the served mode, to the same depth. It is not asked again. */
  readonly evaluated: EvaluatedQuestions
  readonly context: AskRecordsContext
  readonly activeSourceIdOf: SourceIdOf
  readonly record: (change: AnswerChange) => Promise<void>
}

export interface EvaluatedQuestions {
  readonly questions: readonly QueryWithQrels[]
  /** In the order of the questions. */
  readonly outcomes: readonly Outcome[]
}

type ComparedAnswers = RankingComparison & { readonly from: QuestionsFrom }

/**
 * Asks both versions every question, records each answer that is lost or becomes wrong, and compares the rankings.
 * @returns the comparison of the first questions on which the candidate ranks worse, else that of the first ones.
 * @throws NoSearchNodeError where no search node can serve the active version now; OperatorError where the versions
 * share no question with a relevant record.
 */
export async function compareAnswers(input: AnswersInput): Promise<ComparedAnswers> {
  const { active, asked, limit, context, activeSourceIdOf: sourceIdOf } = input
  const { loaded, failed } = await prepareOnLiveNodes(context.nodes, active, context.signal)
  if (loaded.length === 0) throw new NoSearchNodeError('the active version', failed)
  const { facets, profile, reader, versionId } = active
  const embedder = embedderOf(active, context)
  const served = { ...context, facets, embedder, nodes: loaded, versionId, profile, reader, sourceIdOf }
  const known = new Map(
    input.evaluated.questions.map((question, at) => [keyOf(question), input.evaluated.outcomes[at]] as const),
  )
  const rankings: ComparedAnswers[] = []
  for (const { from, questions } of asked) {
    const before = await answersOf(questions, limit, served)
    const after = await answersOf(questions, limit, { ...context, profile: input.profile }, known)
    for (const change of answerChanges(from, questions, before, after)) await input.record(change)
    const ranking = compareRankings(figuresOf(after), figuresOf(before))
    if (ranking !== undefined) rankings.push({ from, ...ranking })
  }
  const compared = rankings.find(({ worse }) => worse) ?? rankings[0]
  if (compared === undefined)
    throw new OperatorError(
      'The candidate and the active version share no question with a relevant passage: build with a question set ' +
        'that names relevant passages.',
    )
  return compared
}

/** Where both versions are embedded alike, the candidate's embedder remembers the questions that it was asked. */
function embedderOf({ embedder }: ActiveVersion, candidate: AskContext): AskContext['embedder'] {
  if (embedder === undefined || candidate.embedder === undefined) return embedder
  return spaceKey(embedder.space) === spaceKey(candidate.embedder.space) ? candidate.embedder : embedder
}

interface Answered {
  readonly answer: AnswerChange['before']
  /** Undefined: nothing is judged relevant to the question. */
  readonly figures: RankingFigures | undefined
}
type Answers = ReadonlyMap<string, Answered>

/** @param known outcomes by the keys of their questions. */
async function answersOf(
  questions: readonly QueryWithQrels[],
  limit: number,
  context: AskRecordsContext,
  known: ReadonlyMap<string, Outcome | undefined> = new Map(),
): Promise<Answers> {
  const answers = new Map<string, Answered>()
  const note = (question: QueryWithQrels, outcome: Outcome): void =>
    void answers.set(question.id, answeredOf(question, outcome, context.profile.calibration))
  const open = questions.filter((question) => {
    const outcome = known.get(keyOf(question))
    if (outcome !== undefined) note(question, outcome)
    return outcome === undefined
  })
  await askRecords(open, { ...context, modes: [servedMode(context)], limit }, (_, _mode, reply, question) =>
    note(question, outcomeOf(question, reply)),
  )
  return answers
}

/** Questions with the same key have the same outcome in a version. */
function keyOf({ id, text, quoted, filters, qrels }: QueryWithQrels): string {
  return JSON.stringify([id, text, quoted, filters ?? null, [...qrels]])
}

function answeredOf(
  { quoted }: QueryWithQrels,
  { figures, top, found, predictors, unsupported: named }: Outcome,
  calibration: Calibration,
): Answered {
  const reciprocalRank = figures?.['mrr@10'] ?? 0
  // A quoted text asks for its passage, not for the provisions that it names.
  const unsupported = quoted ? [] : named
  const answer = {
    decision: decideOn(calibration, { passages: { length: found }, predictors, unsupported }).decision,
    first: top[0]?.record ?? null,
    rank: reciprocalRank === 0 ? null : Math.round(1 / reciprocalRank),
    unsupported: unsupported.map(({ normalized }) => normalized),
  }
  return { answer, figures }
}

function figuresOf(answers: Answers): ReadonlyMap<string, RankingFigures> {
  return new Map([...answers].flatMap(([id, { figures }]) => (figures === undefined ? [] : [[id, figures] as const])))
}

function* answerChanges(
  from: QuestionsFrom,
  questions: readonly QueryWithQrels[],
  own: Answers,
  other: Answers,
): Generator<AnswerChange> {
  for (const question of questions.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    const [before, after] = [own.get(question.id)?.answer, other.get(question.id)?.answer]
    if (before === undefined || after === undefined) continue
    const kind = kindOf(question, before, after)
    if (kind === undefined) continue
    yield {
      kind,
      question: question.id,
      from,
      text: question.text,
      relevant: [...question.qrels.keys()],
      before,
      after,
    }
  }
}

/**
 * Only an answer from evidence can be lost: the active version answers, with a relevant passage among the first ten. It
 * becomes wrong where that passage is no longer there, or no longer first. A question without an answer in the corpus
 * is answered wrongly where the active version abstains. Any other change of the first passage or the decision moves it.
 */
function kindOf({ answerable }: QueryWithQrels, before: AnswerChange['before'], after: AnswerChange['before']) {
  const moved = before.first !== after.first || before.decision !== after.decision ? 'answers_moved' : undefined
  if (answerable === false)
    return before.decision === 'abstain' && after.decision === 'answer' ? 'answers_wrong' : moved
  if (before.decision === 'abstain' || before.rank === null) return moved
  if (after.decision === 'abstain') return 'answers_lost'
  return after.rank === null || (before.rank === 1 && after.rank > 1) ? 'answers_wrong' : moved
}

/** Questions that both versions are asked. */
export interface AskedQuestions {
  readonly from: QuestionsFrom
  readonly questions: readonly QueryWithQrels[]
}

interface QuestionSources {
  /** The candidate's question set; undefined: none. */
  readonly own: readonly QueryWithQrels[] | undefined
  /** The question set of the active version; undefined: none. */
  readonly activeSet: readonly QueryWithQrels[] | undefined
  readonly active: ComparedContents
  readonly noteSourceIds: NoteSourceIds
  readonly day: string
}

/**
 * Returns the questions that both versions are asked: the question set of the active version, that of the candidate,
 * and known items of the active version, each also by its citation. So neither an easy set nor a set that was left out
 * hides a loss. Known items of the candidate could not ask for what it lost.
 * @throws OperatorError where there are none.
 */
export async function comparisonQuestions(sources: QuestionSources): Promise<readonly AskedQuestions[]> {
  const { own, activeSet, active, noteSourceIds, day } = sources
  const { folder, manifest } = active
  const passages = (): ReturnType<NoteSourceIds> =>
    noteSourceIds(verifiedPassagesIn(folder, manifest.files['passages.jsonl']))
  const items = await unlessDamaged('before', active.versionId, () => sampleKnownItems(passages, day))
  const known = items.flatMap((item) => [
    item,
    { ...item, id: `${item.id} by citation`, text: item.label, quoted: false },
  ])
  const asked: readonly (readonly [QuestionsFrom, readonly QueryWithQrels[] | undefined])[] = [
    ['question set of the active version', activeSet],
    ['question set', own],
    ['known items of the active version', known],
  ]
  const all = asked.flatMap(([from, questions = []]) => (questions.length === 0 ? [] : [{ from, questions }]))
  if (all.length > 0) return all
  throw new OperatorError(
    'The candidate cannot be compared with the active version, of which no passage makes a question (none is verified ' +
      'and in force today, or each text is in several records): build with a question set that names relevant passages.',
  )
}
