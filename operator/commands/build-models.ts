import { z } from 'zod'
import {
  ORDERED_PASSAGES_MAX,
  ORDERED_PASSAGES_MIN,
  READER_KINDS,
  READER_SCORES,
  READ_PASSAGES_MAX,
  orders,
} from '#core/domain/retrieval-profile.ts'
import { OperatorError } from '#core/platform/errors.ts'
import type { BuildParameters } from '#jobs/version-build/parameters.ts'
import { option, whole } from '#operator/command-line/inputs.ts'

const ORDERED_PASSAGES_DEFAULT = 20

export const READER_NOTES = `\
Who reads:
  Without --reader nobody: words and vectors rank and decide. The profile pins the reader's name and instructions.
  decide  It tells an answer from a passage of the same topic that lacks it. With labelled questions of --questions its
          decision is fitted, as a cross-encoder needs: it reads at most 400 of them, one call each of a question and
          five passages; the job worker logs their number first, and a run that resumes repeats no call. The report
          shows the decision with it and without.
  order   It orders more passages than are shown. It is tried on --questions, and kept only if they rank better.
  both    One call does both. Where the order ranks no better, its scores only decide.`

/** Options of `build start` that name the reader of a version. */
export const readerInput = {
  reader: option('<model>', 'this model of READER_BASE_URL scores the first passages of each request, see below'),
  readerKind: option(
    '<chat|cross-encoder>',
    'a chat model, or one that is asked at {base}/rerank; default chat',
    z.enum(READER_KINDS, 'must be chat or cross-encoder').default('chat'),
  ),
  readerScores: option(
    '<order|decide|both>',
    'what its scores do; default decide',
    z.enum(READER_SCORES, 'must be order, decide or both').default('decide'),
  ),
  readerPassages: option(
    '<n>',
    `passages that it orders; default ${ORDERED_PASSAGES_DEFAULT}`,
    whole(ORDERED_PASSAGES_MIN, ORDERED_PASSAGES_MAX).optional(),
  ),
  readerFailure: option(
    '<refuse|decide_without>',
    'what its failure does to a request where its scores only decide: 503, or a decision without it; default refuse',
    z.enum(['refuse', 'decide_without'], 'must be refuse or decide_without').default('refuse'),
  ),
}

/** @throws OperatorError where a reader that orders is to be left out after a failure. */
export function readerOf(input: z.output<z.ZodObject<typeof readerInput>>): BuildParameters['reader'] {
  const { reader: model, readerKind: kind, readerScores: scores, readerFailure } = input
  if (model === undefined) return undefined
  if (orders({ scores }) && readerFailure !== 'refuse')
    throw new OperatorError(
      '--reader-failure decide_without needs --reader-scores decide: a version is served in the order that it was ' +
        'evaluated with.',
    )
  const passages = orders({ scores }) ? (input.readerPassages ?? ORDERED_PASSAGES_DEFAULT) : READ_PASSAGES_MAX
  return { model, kind, scores, passages, on_failure: readerFailure }
}
