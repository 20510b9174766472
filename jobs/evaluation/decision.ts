import { decideOn } from '#core/domain/decision.ts'
import { words } from '#core/index/analysis/words.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { sha256 } from '#core/platform/digest.ts'
import { mulberry32 } from '#core/platform/seeded-random.ts'
import { askModes, servedMode, type AskContext, type QuestionInput } from './ask.ts'
import { EVALUATION_BOUNDS } from './bounds.ts'
import EVERYDAY from './everyday-questions.json' with { type: 'json' }
import { fitDecision, scoredBy, type Decision, type DecisionOptions } from './figures.ts'
import type { Outcome } from './outcomes.ts'
import type { Refused } from './page/evaluation-report.ts'
import type { QueryWithQrels } from './questions.ts'

/** Letters of which words of no language are made. */
const LETTERS = ['abcdefghijklmnopqrstuvwxyz', 'абвгдежзиклмнопрстуфхцчшыэюя', 'אבגדהוזחטיכלמנסעפצקרשת'] as const

/** At most this share of the texts that no passage answers. */
const DRAWN_RISK = 0.01

/**
 * Returns the decision that is fitted on the questions, or the default decision of the profile where they have too few
 * labels. The default stays also where the fitted one answers what no passage answers, and more of it than the default:
 * more than one in a hundred of the texts that are drawn; or so many of the answerable questions without their passages
 * that with those questions as they are more than the target share of its answers has no evidence.
 * @param items texts of passages of the version. @param withQueries adds what a rewriter writes for each text, and
 * leaves out those without a rewriting, which no request answers.
 */
export async function decisionOf(
  questions: readonly QueryWithQrels[],
  outcomes: readonly Outcome[],
  options: DecisionOptions,
  items: readonly { readonly text: string }[],
  context: AskContext,
  withQueries: (texts: readonly QuestionInput[]) => Promise<readonly QuestionInput[]> = (texts) =>
    Promise.resolve(texts),
): Promise<Decision> {
  const { calibration } = context.profile
  const byDefault = { calibration, scored: scoredBy(calibration, questions, outcomes), isFitted: false }
  const fitted = fitDecision(questions, outcomes, options, calibration)
  if (fitted === undefined) return byDefault
  const drawn = drawnTexts(items).map((text) => ({ text, filters: undefined }))
  // A reader changes none of these predictors.
  const profile = { ...context.profile, reader: null }
  const asking = { ...context, profile, modes: [servedMode(context)], limit: 1 }
  const refusal = async (
    asked: readonly QuestionInput[],
    most: number,
    masked?: true,
  ): Promise<Refused | undefined> => {
    let [answered, answeredByDefault] = [0, 0]
    await askModes(asked, asking, (_at, _mode, reply) => {
      answered += Number(decideOn(fitted.calibration, reply).decision === 'answer')
      answeredByDefault += Number(decideOn(calibration, reply).decision === 'answer')
    })
    return answered > Math.max(most, answeredByDefault) ? { drawn: asked.length, answered, masked } : undefined
  }
  const { passages, targetRisk } = options
  const { threshold } = fitted.calibration
  const right = fitted.outOfFold.filter(({ sufficient, score }) => sufficient && score >= threshold).length
  const refused =
    (await refusal(await withQueries(drawn), Math.min(DRAWN_RISK, targetRisk) * drawn.length)) ??
    // Of these answers and the right ones they are the target share.
    (passages &&
      (await refusal(await maskedQuestions(questions, passages), (targetRisk / (1 - targetRisk)) * right, true)))
  if (refused !== undefined) return { ...byDefault, refused }
  return { calibration: fitted.calibration, scored: fitted.outOfFold, isFitted: true }
}

/**
 * Words of no language, some of them long, words of the version that do not belong together, and everyday questions. The
 * same items give the same texts.
 */
function drawnTexts(items: readonly { readonly text: string }[]): readonly string[] {
  const random = mulberry32(items.length)
  const between = (least: number, most: number): number => least + Math.floor(random() * (most - least + 1))
  const list = (count: number, draw: (at: number) => string): string[] =>
    Array.from({ length: count }, (_, at) => draw(at))
  const drawn = (from: ArrayLike<string>, count: number): readonly string[] =>
    list(count, () => from[between(0, from.length - 1)] ?? '')
  const word = (at: number, count: number): string => drawn(LETTERS[at % LETTERS.length] ?? '', count).join('')
  const held = items.flatMap(({ text }) => [...new Set(words(text))])
  const vocabulary = [...Map.groupBy(held, (own) => own)].flatMap(([own, { length }]) => (length === 1 ? [own] : []))
  const each = EVALUATION_BOUNDS.drawnTextsOfKind
  return [
    // What people ask on other days.
    ...EVERYDAY,
    ...list(each, (at) => list(between(3, 8), () => word(at, between(3, 10))).join(' ')),
    ...list(each / 4, (at) => word(at, between(100, 1_000))),
    ...list(vocabulary.length === 0 ? 0 : each, () => drawn(vocabulary, between(5, 15)).join(' ')),
  ]
}

/**
 * Returns the answerable questions without their evidence: rows of a relevant passage, of an equal text, and of the same
 * provision in other revisions are left out of the search. No passage answers them.
 * @param passages of the version in row order; they are read twice.
 */
async function maskedQuestions<Q extends QueryWithQrels>(
  questions: readonly Q[],
  passages: () => AsyncIterable<PassageRecord>,
) {
  const answerable = questions.filter((question) => question.answerable === true)
  const relevant = new Set(answerable.flatMap(({ qrels }) => [...qrels.keys()]))
  /** By the id of a relevant passage, what it is known by. */
  const keysOf = new Map<string, string[]>()
  let rows = 0
  for await (const passage of passages()) {
    rows += 1
    if (!relevant.has(passage.source_id)) continue
    keysOf.set(passage.source_id, [...(keysOf.get(passage.source_id) ?? []), ...keysIn(passage)])
  }
  const rowsOf = new Map([...keysOf.values()].flat().map((key) => [key, new Set<number>()]))
  let row = 0
  for await (const passage of passages()) {
    for (const key of keysIn(passage)) rowsOf.get(key)?.add(row)
    row += 1
  }
  return answerable.map((question) => {
    const onlyRows = Buffer.alloc(Math.ceil(rows / 8), 255)
    for (const source of question.qrels.keys())
      for (const key of keysOf.get(source) ?? [])
        for (const at of rowsOf.get(key) ?? []) onlyRows[at >> 3] = (onlyRows[at >> 3] ?? 0) & ~(1 << (at & 7))
    return { ...question, onlyRows }
  })
}

function keysIn({ source_id: source, provision, text }: PassageRecord): readonly string[] {
  return [`id ${source}`, `provision ${provision}`, `text ${sha256(text).toString('hex')}`]
}
