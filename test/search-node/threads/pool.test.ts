import { afterEach, expect, test } from 'vitest'
import type { ArtifactRef } from '#core/index/format/reader.ts'
import type { CallDeadline } from '#search-node/node-error.ts'
import { UNLIMITED, inputOf } from '#test/support/search.ts'
import { expectEventually } from '#test/support/until.ts'
import { createHeldPool, type HeldPool } from './held-pool.ts'

const artifact: ArtifactRef = {
  versionId: 'p',
  folder: '/nowhere',
  passages: 1,
  documents: 1,
  passageDigests: '',
  vectors: undefined,
  queryExpansions: undefined,
  engine: undefined,
}
let held: HeldPool

function hold(threads: number, queueMax: number): void {
  held = createHeldPool({ threads, queueMax })
}
afterEach(() => held.end())

function ask(limit: number, deadline: Partial<CallDeadline> = {}): Promise<Uint8Array> {
  const search = { versionId: artifact.versionId, input: inputOf({ vector: new Float32Array(1), limit }) }
  const reply = held.pool.search(search, { ...UNLIMITED, ...deadline })
  reply.catch(() => undefined)
  return reply
}

const started = (...tasks: readonly string[]): Promise<void> => expectEventually(held.started, tasks)

test('a thread gets one task at a time, in the order of arrival', async () => {
  hold(1, 8)
  const replies = Promise.all([1, 2, 3, 4].map((limit) => ask(limit)))
  await started('search 1')
  expect(held.pool.queued).toBe(3)
  await held.finish('search 1', 'search 2', 'search 3', 'search 4')
  expect(await replies).toEqual([1, 2, 3, 4].map((limit) => Uint8Array.of(limit)))
  expect(held.started()).toEqual(['search 1', 'search 2', 'search 3', 'search 4'])
})

test('a full queue refuses at once, and takes searches again when a place is free', async () => {
  hold(1, 2)
  const running = [1, 2, 3].map((limit) => ask(limit))
  await expect(ask(4)).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED' })
  await held.finish('search 1')
  await running[0]
  running.push(ask(5))
  await held.finish('search 2', 'search 3', 'search 5')
  await Promise.all(running)
  expect(held.started()).toEqual(['search 1', 'search 2', 'search 3', 'search 5'])
})

test('a waiting search is dropped when its caller gives up, a running one is left alone', async () => {
  hold(1, 8)
  const [runningCaller, waitingCaller] = [new AbortController(), new AbortController()]
  const running = ask(1, { signal: runningCaller.signal })
  const waiting = ask(2, { signal: waitingCaller.signal })
  const last = ask(3)
  runningCaller.abort()
  waitingCaller.abort()
  await expect(waiting).rejects.toMatchObject({ code: 'CANCELLED' })
  expect(held.pool.queued).toBe(1)
  await held.finish('search 1', 'search 3')
  expect(await Promise.all([running, last])).toEqual([Uint8Array.of(1), Uint8Array.of(3)])
  expect(held.started()).toEqual(['search 1', 'search 3'])
  await expect(ask(4, { signal: waitingCaller.signal })).rejects.toMatchObject({ code: 'CANCELLED' })
})

test('a version is opened on each thread in turn, ahead of waiting searches, while the others score', async () => {
  hold(2, 8)
  const searches = [1, 2, 3].map((limit) => ask(limit))
  await expectEventually(() => held.started().toSorted(), ['search 1', 'search 2'])
  const opened = held.pool.openEverywhere(artifact)
  await held.finish('search 1')
  await expectEventually(() => held.started().slice(2), ['open'])
  await held.finish('search 2')
  await expectEventually(() => held.started().slice(3), ['search 3'])
  await held.finish('open')
  // The other thread still searches, so this one takes what comes meanwhile.
  searches.push(ask(4))
  await expectEventually(() => held.started().slice(4), ['search 4'])
  searches.push(ask(5))
  await held.finish('search 3')
  await expectEventually(() => held.started().slice(5), ['open'])
  await held.finish('search 4', 'search 5', 'open')
  await Promise.all([opened, ...searches])
})

test('a version is closed on every thread, whichever is free first', async () => {
  hold(3, 8)
  const closed = held.pool.closeEverywhere(artifact)
  for (let thread = 1; thread <= 3; thread++) {
    await expectEventually(() => held.started().length, thread)
    await held.finish('close')
  }
  await closed
  expect(held.started()).toEqual(['close', 'close', 'close'])
})

test('a failing search fails alone', async () => {
  hold(1, 8)
  const [failing, next] = [ask(99), ask(1)]
  await held.finish('search 99', 'search 1')
  await expect(failing).rejects.toThrow('the search failed')
  expect(await next).toEqual(Uint8Array.of(1))
})

test('threads end only when nothing runs or waits, and nothing new is taken meanwhile', async () => {
  hold(2, 8)
  const searches = [1, 2, 3].map((limit) => ask(limit))
  let hasEnded = false
  const ended = held.pool.end().then(() => (hasEnded = true))
  await expect(ask(4)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  await expect(held.pool.openEverywhere(artifact)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  await expect(held.pool.closeEverywhere(artifact)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  await held.finish('search 1', 'search 2', 'search 3')
  expect(hasEnded).toBe(false)
  await Promise.all(searches)
  await ended
})
