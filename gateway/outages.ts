import { EmbeddingError } from '#core/embedding/embedder.ts'
import { GATEWAY_BOUNDS } from './bounds.ts'
import { createFailures } from './dependencies.ts'
import type { Finished } from './retrieve/pipeline.ts'
import type { RequestContext } from './retrieve/request-context.ts'

interface Outage {
  readonly sinceMs: number
  readonly lastMs: number
  /** Callers were asked to wait until then. */
  readonly untilMs: number
}

type Asked = Pick<RequestContext, 'about' | 'timings' | 'callerGone'>

/** What finished requests tell of outages: how long each lasts, and which models fail. */
export type Outages = ReturnType<typeof createOutages>

/** @param nowMs monotonic. */
export function createOutages(nowMs: () => number = () => performance.now()) {
  /** By knowledge base; '': before the request named one. A 200 of it ends both. */
  const outages = new Map<string, Outage>()
  const models = createFailures(nowMs)

  /** A caller that hangs up says nothing about a model. */
  function noteModels({ timings, callerGone }: Asked, { error, rewriter, reader }: Finished): void {
    if (callerGone()) return
    const stages = timings.stages.map(({ name }) => name)
    const fails = error?.cause instanceof EmbeddingError && stages.at(-1) === 'embed'
    if (fails || (stages.includes('search') && timings.waitedMs.provider > 0))
      models.note('the embedding provider', fails ? 'fails' : undefined)
    for (const [name, use] of Object.entries({ 'the rewriter': rewriter, 'the reader': reader }))
      if (typeof use?.result === 'string') models.note(name, use.result === 'failed' ? 'fails' : undefined)
  }

  return {
    /** Models whose last use failed. */
    models: models.reason,
    /** @returns of a 503, when to come again: after a share of the outage so far, or what was asked for if longer. */
    finished(context: Asked, finished: Finished): Readonly<Record<string, string>> {
      const { status } = finished.reply
      const { knowledge_base: base = '' } = context.about
      noteModels(context, finished)
      if (status === 200) for (const name of [base, '']) outages.delete(name)
      if (status !== 503) return {}
      const { retryAfterShare, retryAfterMaxMs, outageOverMs } = GATEWAY_BOUNDS
      const atMs = nowMs()
      const last = outages.get(base)
      const known = last !== undefined && atMs - last.lastMs < outageOverMs ? last : undefined
      const askedMs = (finished.error?.retryAfterSeconds ?? 1) * 1_000
      const [sinceMs, untilMs] = [known?.sinceMs ?? atMs, Math.max(known?.untilMs ?? 0, atMs + askedMs)]
      outages.set(base, { sinceMs, lastMs: atMs, untilMs })
      const waitMs = Math.max((atMs - sinceMs) * retryAfterShare, untilMs - atMs)
      // Whole milliseconds: a sum of the clock and a second may exceed it by a rounding error.
      return { 'retry-after': String(Math.ceil(Math.floor(Math.min(waitMs, retryAfterMaxMs)) / 1_000)) }
    },
  }
}
