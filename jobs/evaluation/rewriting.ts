import { DEFAULT_REWRITTEN_CALIBRATION } from '#core/domain/default-calibration.ts'
import type { RewriterParameters } from '#core/domain/retrieval-profile.ts'
import { withinFilters } from '#core/index/format/description.ts'
import { forEachConcurrently } from '#core/platform/for-each-concurrently.ts'
import { REWRITING_BOUNDS } from '#core/rewriting/bounds.ts'
import type { Rewriter } from '#core/rewriting/rewriter.ts'
import { servedOf, type AskRecordsContext } from './ask.ts'
import { EVALUATION_BOUNDS } from './bounds.ts'
import { decisionOf } from './decision.ts'
import { modelFigures, type DecisionOptions } from './figures.ts'
import { askQuestions } from './outcomes.ts'
import type { ReaderFigures } from './page/evaluation-report.ts'
import type { QueryWithQrels } from './questions.ts'
import { labelledSample } from './reading.ts'

export interface MeasuredRewriter {
  /** With the fitted calibration, or the default. */
  readonly parameters: RewriterParameters
  readonly figures: ReaderFigures
}

type Context = AskRecordsContext & { readonly note: (sentence: string) => void }

/**
 * Has the rewriter of a profile rewrite labelled questions, searches its queries, and fits the decision on what they
 * find. A fit is kept only where it stays silent about texts that no passage answers, with their own rewritings.
 * @param items texts of passages of the version.
 * @throws RewriterError if the endpoint fails; a repetition writes what is missing, where rewritings are kept.
 */
export async function measureRewriter(
  questions: readonly QueryWithQrels[],
  rewriter: Rewriter,
  parameters: RewriterParameters,
  options: DecisionOptions,
  items: readonly { readonly text: string }[],
  context: Context,
): Promise<MeasuredRewriter> {
  const sample = labelledSample(questions)
  context.note(`The rewriter is asked about ${sample.length} questions, then about texts that no passage answers.`)
  const withQueries = <Q extends { readonly text: string }>(texts: readonly Q[]): Promise<readonly Rewritten<Q>[]> =>
    rewritten(texts, rewriter, parameters, context)
  const asked = await withQueries(sample)
  const outcomes = servedOf(await askQuestions(asked, EVALUATION_BOUNDS.rewrittenDepth, context))
  const profile = { ...context.profile, calibration: DEFAULT_REWRITTEN_CALIBRATION }
  const { calibration, scored, isFitted } = await decisionOf(
    asked,
    outcomes,
    options,
    items,
    { ...context, profile },
    withQueries,
  )
  return {
    parameters: { ...parameters, calibration },
    figures: modelFigures(parameters.model, scored, calibration, isFitted),
  }
}

type Rewritten<Q> = Q & { readonly rewritten: readonly string[] }

async function rewritten<Q extends { readonly text: string }>(
  texts: readonly Q[],
  rewriter: Rewriter,
  { description }: RewriterParameters,
  { facets, signal, onProgress }: Context,
): Promise<readonly Rewritten<Q>[]> {
  const knowledgeBase = withinFilters(description, facets)
  const all: Rewritten<Q>[] = []
  await forEachConcurrently(texts, EVALUATION_BOUNDS.evaluationConcurrency, async (each, at) => {
    const { queries } = await rewriter.rewrite(each.text, knowledgeBase, REWRITING_BOUNDS.rewriterTimeoutMaxMs, signal)
    all[at] = { ...each, rewritten: queries }
    onProgress(at + 1, texts.length)
  })
  return all
}
