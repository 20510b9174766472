import { z } from 'zod'
import { REWRITING_PROMPT_SHA256 } from '#core/rewriting/prompt.ts'
import { createRewriter, type Rewriter } from '#core/rewriting/rewriter.ts'
import { REWRITING_SETTINGS } from '#core/rewriting/settings.ts'
import { cachedRewriter } from '#jobs/evaluation/reply-cache.ts'
import type { BuildParameters } from '#jobs/version-build/parameters.ts'
import { option } from '#operator/command-line/inputs.ts'
import type { Counting } from './about.ts'
import { flaggedEndpoint } from './flagged-endpoint.ts'

export const rewriterInput = {
  rewriter: option(
    '<url>',
    'search by the queries that the chat model at this base URL writes for each question',
    z
      .string()
      .refine(
        (url) => REWRITING_SETTINGS.REWRITER_BASE_URL.schema.safeParse(url).success,
        'must be an http or https URL',
      )
      .optional(),
  ),
  rewriterModel: option('<name>', 'model of the rewriter; required with its URL'),
  rewriterKeyEnv: option('<name>', 'environment variable that holds the key of the rewriter'),
  rewriterCache: option('<file>', 'keep queries here, so that a run repeats without calls (default: in ~/.cache)'),
}

/** A rewriter that flags name, as a build pins one. */
export interface FlaggedRewriter extends Rewriter {
  readonly pinned: NonNullable<BuildParameters['rewriter']>
}

/** Opens the rewriter that the flags name; its queries are kept in a file. @throws OperatorError as `flaggedEndpoint`. */
export async function openFlaggedRewriter(
  flags: z.output<z.ZodObject<typeof rewriterInput>>,
  counting: Counting,
): Promise<FlaggedRewriter | undefined> {
  const { rewriter: address, rewriterModel, rewriterKeyEnv: keyEnv, rewriterCache: cache } = flags
  const named = flaggedEndpoint('rewriter', { address, model: rewriterModel, keyEnv, cache })
  if (named === undefined) return undefined
  const { model, url, key, file } = named
  const pinned = { model, prompt_sha256: REWRITING_PROMPT_SHA256 }
  const live = createRewriter(pinned, { REWRITER_BASE_URL: url, REWRITER_API_KEY: key })
  const counted = counting('rewriter', pinned)
  const kept = await cachedRewriter({ rewrite: (...asked) => counted(() => live.rewrite(...asked)) }, model, file)
  return { ...kept, pinned: { model, on_failure: 'refuse' } }
}
