import { setTimeout as sleep } from 'node:timers/promises'
import { readActivation } from '#core/db/activations.ts'
import type { ActivationRow } from '#core/db/activations.ts'
import { embeddingInWords } from '#core/domain/embedding-counts.ts'
import { OPERATOR_BOUNDS } from '#operator/actions/bounds.ts'
import { interruptible } from '#operator/command-line/interruptible.ts'
import type { BuildListRow } from '#core/db/corpus-lists.ts'
import type { Queryable } from '#core/db/pool.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { buildNamed } from '../actions/names.ts'
import { buildStatus, isStalled } from './build-status.ts'
import type { Progress } from '#operator/command-line/progress.ts'

export const WAIT_SECONDS_DEFAULT = 3_600
export const WAIT_SECONDS_MAX = 86_400
const IDLE_HINT_MS = 15_000

/** Waits until the row shows the outcome. The job worker does the work, independent of who waits. */
async function until<T>(
  waitSeconds: number,
  see: string,
  look: (waitedMs: number) => Promise<T | undefined>,
): Promise<T> {
  const goesOn = `goes on without this command: see "operator ${see}".`
  const began = performance.now()
  return await interruptible(`It ${goesOn}`, async (signal) => {
    for (;;) {
      const waitedMs = performance.now() - began
      const found = await look(waitedMs)
      if (found !== undefined) return found
      if (waitedMs > waitSeconds * 1_000)
        throw new OperatorError(`It is not finished after ${waitSeconds} s and ${goesOn}`)
      await sleep(OPERATOR_BOUNDS.operatorPollMs, undefined, { signal })
    }
  })
}

function queued(waitedMs: number): string {
  return waitedMs > IDLE_HINT_MS ? 'still queued; is a job worker running?' : 'queued'
}

/** While a provider embeds. */
function embeddingOf({ stage, embedding }: BuildListRow): string {
  return stage !== 'embed' || embedding === null || embedding.tokens === 0 ? '' : embeddingInWords(embedding)
}

/** @throws OperatorError when the build failed, with its reason. */
export async function waitForBuild(
  database: Queryable,
  id: string,
  waitSeconds: number,
  progress: Progress,
): Promise<BuildListRow> {
  return until(waitSeconds, `build show ${id}`, async (waitedMs) => {
    const build = await buildNamed(database, id)
    switch (build.state) {
      case 'queued':
        progress.update(queued(waitedMs))
        return undefined
      case 'running':
        if (isStalled(build)) progress.update(buildStatus(build))
        else progress.update(build.stage ?? 'starting', build.done, build.total, embeddingOf(build))
        return undefined
      case 'retrying':
        progress.update(buildStatus(build))
        return undefined
      case 'failed':
        throw new OperatorError(`The build failed: ${build.error ?? 'see the log of the job worker'}`)
      case 'succeeded':
        return build
      default:
        return build.state satisfies never
    }
  })
}

/** @throws OperatorError when the activation was refused, with what to do next. */
export async function waitForActivation(
  database: Queryable,
  id: string,
  waitSeconds: number,
  progress: Progress,
): Promise<ActivationRow> {
  return until(waitSeconds, 'versions list', async (waitedMs) => {
    const activation = await readActivation(database, id)
    if (activation === undefined || activation.state === 'queued') {
      progress.update(
        waitedMs > IDLE_HINT_MS
          ? 'waiting for the search nodes; is a job worker running?'
          : 'waiting for the search nodes to load it',
      )
      return undefined
    }
    if (activation.state === 'refused')
      throw new OperatorError(`Refused: ${activation.message ?? 'see the log of the job worker'}`)
    return activation
  })
}
