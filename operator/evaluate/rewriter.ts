import { z } from 'zod'
import { REWRITING_PROMPT_SHA256 } from '#core/rewriting/prompt.ts'
import { cachedRewriter } from '#jobs/evaluation/reply-cache.ts'
import { option } from '#operator/command-line/inputs.ts'
import type { Counting } from './about.ts'
import { flaggedEndpoint } from './flagged-endpoint.ts'

export const rewriterInput = {
  rewriter: option(
    '<url>',
    'search by the queries that the chat model at this base URL writes for each question',
    z
      .string()
      .regex(/^https?:\/\//, 'must be an http or https URL')
      .optional(),
  ),
  rewriterModel: option('<name>', 'model of the rewriter; required with its URL'),
  rewriterKeyEnv: option('<name>', 'environment variable that holds the key of the rewriter'),
  rewriterCache: option('<file>', 'keep queries here, so that a run repeats without calls (default: in ~/.cache)'),
}

/** A rewriter that flags name, as a build pins one. */
export type FlaggedRewriter = NonNullable<Awaited<ReturnType<typeof openFlaggedRewriter>>>

/** Opens the rewriter that the flags name; its queries are kept in a file. @throws OperatorError as `flaggedEndpoint`. */
export async function openFlaggedRewriter(flags: z.output<z.ZodObject<typeof rewriterInput>>, counting: Counting) {
  const { rewriter: address, rewriterModel, rewriterKeyEnv: keyEnv, rewriterCache: cache } = flags
  const named = flaggedEndpoint('rewriter', { address, model: rewriterModel, keyEnv, cache })
  if (named === undefined) return undefined
  const { model, url, key, file } = named
  const by = { model, prompt_sha256: REWRITING_PROMPT_SHA256 }
  const settings = { REWRITER_BASE_URL: url, REWRITER_API_KEY: key }
  const kept = await cachedRewriter(by, settings, file, counting('rewriter', by))
  return { ...kept, pinned: { model, on_failure: 'refuse' } as const }
}
