import { COMMIT, RELEASE } from '#core/platform/release.ts'
import type { MakeCall } from '#jobs/evaluation/reply-cache.ts'
import type { Section } from '#operator/command-line/sections.ts'

/** Figures of each question by its id; a share of one question is 0 or 1. */
export type PerQuestion = Readonly<Record<string, Readonly<Record<string, number>>>>

/** With what an evaluation was made, and what it took. */
export type About = ReturnType<ReturnType<typeof startAbout>['finish']>

const MODEL_ROLES = ['rewriter', 'reader'] as const
export type ModelRole = (typeof MODEL_ROLES)[number]

/** What a model is asked by, and what its calls took; what a file had kept took none. */
interface AskedModel {
  readonly model: string
  readonly prompt_sha256: string | null
  calls: number
  tokens: number
  /** Of all calls, some of which are made at once. */
  seconds: number
}

/** Returns what makes the calls to a model, so that they are counted. */
export type Counting = (role: ModelRole | 'embedding', by: Pick<AskedModel, 'model' | 'prompt_sha256'>) => MakeCall

/** Counts from now on. @param args as they were given: the settings. */
export function startAbout(args: readonly string[]) {
  const started = performance.now()
  const models: Partial<Record<Parameters<Counting>[0], AskedModel>> = {}
  const counting: Counting = (role, { model, prompt_sha256 }) => {
    const asked = (models[role] = { model, prompt_sha256, calls: 0, tokens: 0, seconds: 0 })
    return async (call) => {
      const from = performance.now()
      const reply = await call()
      asked.calls++
      asked.tokens += reply.tokens ?? 0
      asked.seconds = Number((asked.seconds + (performance.now() - from) / 1_000).toFixed(3))
      return reply
    }
  }
  return {
    counting,
    /** @param digest of the model of an encoder of its own. */
    finish: (model: string | undefined, digest: string | undefined) => ({
      release: RELEASE,
      commit: COMMIT,
      model: model ?? null,
      model_digest: digest ?? null,
      settings: args,
      /** As the endpoint reported; vectors of the cache take none. */
      embedding_tokens: models.embedding?.tokens ?? 0,
      ...(models.rewriter && { rewriter: models.rewriter }),
      ...(models.reader && { reader: models.reader }),
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
    ...MODEL_ROLES.flatMap((role) => modelLine(role, took[role])),
  ]
}

function modelLine(role: ModelRole, asked: AskedModel | undefined): readonly string[] {
  if (asked === undefined) return []
  const { model, prompt_sha256: prompt, calls, tokens, seconds } = asked
  const named = prompt === null ? model : `${model} (prompt with SHA-256 ${prompt})`
  return [`The ${role} ${named} took ${calls} calls, ${tokens} tokens and ${seconds} s.`]
}

export function aboutSection(about: About): Section {
  return { title: 'How it was measured', lines: aboutLines(about) }
}
