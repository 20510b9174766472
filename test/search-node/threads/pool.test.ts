import { expect, test } from 'vitest'
import { SearchPool } from '#search-node/threads/pool.ts'
import type { ArtifactSearch } from '#search-node/threads/workers.ts'
import type { ArtifactRef } from '#core/index/format/reader.ts'
import { UNLIMITED, inputOf } from '#test/support/search.ts'
import { createHeldWorker } from '#test/search-node/held-worker.ts'

const artifact: ArtifactRef = {
  versionId: 'p',
  folder: '/nowhere',
  passages: 1,
  documents: 1,
  passageDigests: '',
  vectors: undefined,
  searchQuestions: undefined,
  engine: undefined,
}

function task(limit: number): ArtifactSearch {
  return { artifact, input: inputOf({ vector: new Float32Array(1), limit }), deadlineMs: Infinity }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('a thread gets one task at a time, in the order of arrival', async () => {
  const { worker, started, finish } = createHeldWorker()
  const pool = new SearchPool([worker], 8)
  const replies = Promise.all([1, 2, 3].map((limit) => pool.search(task(limit), UNLIMITED)))
  await turn()
  expect(started).toEqual(['search 1'])
  expect(pool.queued).toBe(2)
  for (let n = 0; n < 3; n++) {
    finish()
    await turn()
  }
  expect(await replies).toEqual([Uint8Array.of(1), Uint8Array.of(2), Uint8Array.of(3)])
  expect(started).toEqual(['search 1', 'search 2', 'search 3'])
})

test('a full queue refuses at once, and takes searches again when a place is free', async () => {
  const { worker, started, finish } = createHeldWorker()
  const pool = new SearchPool([worker], 2)
  const running = [1, 2, 3].map((limit) => pool.search(task(limit), UNLIMITED))
  await expect(pool.search(task(4), UNLIMITED)).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED' })
  finish()
  await running[0]
  await turn()
  running.push(pool.search(task(5), UNLIMITED))
  for (let n = 0; n < 3; n++) {
    await turn()
    finish()
  }
  await Promise.all(running)
  expect(started).toEqual(['search 1', 'search 2', 'search 3', 'search 5'])
})

test('a search whose deadline passed while it waited never reaches a thread', async () => {
  const { worker, started, finish } = createHeldWorker()
  const pool = new SearchPool([worker], 8)
  const running = pool.search(task(1), UNLIMITED)
  const late = pool.search(task(2), { ...UNLIMITED, deadlineMs: Date.now() - 1 })
  const next = pool.search(task(3), UNLIMITED)
  finish()
  await expect(late).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' })
  await running
  await turn()
  finish()
  await next
  expect(started).toEqual(['search 1', 'search 3'])
})

test('a search that arrives past its deadline is refused although a thread is free', async () => {
  const { worker, started } = createHeldWorker()
  await expect(
    new SearchPool([worker], 8).search(task(1), { ...UNLIMITED, deadlineMs: Date.now() - 1 }),
  ).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' })
  expect(started).toEqual([])
})

test('a waiting search is dropped when its caller gives up, a running one is left alone', async () => {
  const { worker, started, finish } = createHeldWorker()
  const pool = new SearchPool([worker], 8)
  const [runningCaller, waitingCaller] = [new AbortController(), new AbortController()]
  const running = pool.search(task(1), { ...UNLIMITED, signal: runningCaller.signal })
  const waiting = pool.search(task(2), { ...UNLIMITED, signal: waitingCaller.signal })
  runningCaller.abort()
  waitingCaller.abort()
  await expect(waiting).rejects.toMatchObject({ code: 'CANCELLED' })
  expect(pool.queued).toBe(0)
  finish()
  expect(await running).toEqual(Uint8Array.of(1))
  expect(started).toEqual(['search 1'])
  await expect(pool.search(task(3), { ...UNLIMITED, signal: waitingCaller.signal })).rejects.toMatchObject({
    code: 'CANCELLED',
  })
})

test('a version is opened on each thread in turn, ahead of waiting searches, while the others score', async () => {
  const [one, two] = [createHeldWorker(), createHeldWorker()]
  const pool = new SearchPool([one.worker, two.worker], 8)
  const searches = [1, 2, 3].map((limit) => pool.search(task(limit), UNLIMITED))
  const opened = pool.openEverywhere(artifact)
  one.finish()
  await turn()
  expect(one.started).toEqual(['search 1', 'open'])
  two.finish()
  await turn()
  expect(two.started).toEqual(['search 2', 'search 3'])
  one.finish()
  await turn()
  two.finish()
  await turn()
  expect(two.started).toEqual(['search 2', 'search 3', 'open'])
  two.finish()
  await opened
  await Promise.all(searches)
})

test('a failing search fails alone', async () => {
  const { worker, finish } = createHeldWorker()
  const pool = new SearchPool([worker], 8)
  const failing = pool.search(task(99), UNLIMITED)
  const next = pool.search(task(1), UNLIMITED)
  finish()
  await expect(failing).rejects.toThrow('the search failed')
  await turn()
  finish()
  expect(await next).toEqual(Uint8Array.of(1))
})

test('threads end only when nothing runs or waits, and nothing new is taken meanwhile', async () => {
  const { worker, started, finish } = createHeldWorker()
  const pool = new SearchPool([worker], 8)
  const searches = [1, 2].map((limit) => pool.search(task(limit), UNLIMITED))
  const ended = pool.end()
  await expect(pool.search(task(3), UNLIMITED)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  finish()
  await turn()
  expect(started).toEqual(['search 1', 'search 2'])
  finish()
  await Promise.all(searches)
  await ended
  expect(started).toEqual(['search 1', 'search 2', 'end'])
})
