import type { Embedder } from '#core/embedding/embedder.ts'
import { COMMIT, RELEASE } from '#core/platform/release.ts'
import type { Section } from '#operator/command-line/sections.ts'

/** Figures of each question by its id; a share of one question is 0 or 1. */
export type PerQuestion = Readonly<Record<string, Readonly<Record<string, number>>>>

/** With what an evaluation was made, and what it took. */
export type About = ReturnType<ReturnType<typeof startAbout>['finish']>

/** Counts from now on. @param args as they were given: the settings. */
export function startAbout(args: readonly string[]) {
  const started = performance.now()
  let tokens = 0
  return {
    /** @returns an embedder whose tokens are counted. */
    counting: (embedder: Embedder): Embedder => ({
      ...embedder,
      async embed(...call) {
        const embedded = await embedder.embed(...call)
        tokens += embedded.tokens ?? 0
        return embedded
      },
    }),
    /** @param digest of the model of an encoder of its own. */
    finish: (model: string | undefined, digest: string | undefined) => ({
      release: RELEASE,
      commit: COMMIT,
      model: model ?? null,
      model_digest: digest ?? null,
      settings: args,
      /** As the endpoint reported; vectors of the cache take none. */
      embedding_tokens: tokens,
      seconds: Number(((performance.now() - started) / 1_000).toFixed(1)),
      /** Largest resident memory of the process that asks. */
      rss_mb: Math.round((process.resourceUsage().maxRSS * 1_024) / 1e6),
    }),
  }
}

/** Sentences for a terminal and a page. */
export function aboutLines({ model, model_digest: digest, commit, release, ...took }: About): readonly string[] {
  const named = model === null ? 'Words alone.' : `Model ${model}${digest === null ? '' : ` (SHA-256 ${digest})`}.`
  return [
    `${named} Release ${release}, commit ${commit === '' ? 'unknown' : commit.slice(0, 12)}.`,
    `Settings: ${took.settings.join(' ')}`,
    `Took ${took.seconds} s, ${took.rss_mb} MB and ${took.embedding_tokens} tokens of the embedding endpoint.`,
  ]
}

export function aboutSection(about: About): Section {
  return { title: 'How it was measured', lines: aboutLines(about) }
}
