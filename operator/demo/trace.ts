import { setTimeout as sleep } from 'node:timers/promises'
import { findKnowledgeBase } from '#core/db/knowledge-bases.ts'
import { OperatorError } from '#core/platform/errors.ts'
import type { Operator } from '#operator/actions/operator.ts'
import { setTrace } from '#operator/actions/organizations.ts'

const WRITTEN_WITHIN_MS = 120_000
const ASKED_EVERY_MS = 100
const TIMEOUT_MS = 5_000

/** Turns the trace of a knowledge base on, unless it is. */
export async function ensureTraced(operator: Operator, slug: string): Promise<void> {
  if ((await findKnowledgeBase(operator.database, slug))?.traced === false) await setTrace(operator, slug, true)
}

/**
 * Waits until the trace shows that a version is active.
 * @throws OperatorError when the job worker has not written it in time.
 */
export async function untilTraced(traceUrl: string, slug: string, versionId: string): Promise<void> {
  const deadline = performance.now() + WRITTEN_WITHIN_MS
  while (performance.now() < deadline) {
    const head = await fetch(`${traceUrl}/${slug}/head.json`, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    if ((await head.text()).includes(versionId)) return
    await sleep(ASKED_EVERY_MS)
  }
  throw new OperatorError('The trace was not written in two minutes: read the log of the job worker.')
}
