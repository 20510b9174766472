import { afterEach, expect, test, vi } from 'vitest'
import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'
import { createConcurrencyLimit, type ConcurrencyLimit, type Slot } from '#gateway/retrieve/concurrency-limit.ts'

const { requestsActiveMin: MIN, requestsActiveFirst: FIRST, requestsActiveMax: MAX } = GATEWAY_BOUNDS
const never = new AbortController().signal

afterEach(() => vi.useRealTimers())

async function entered(concurrency: ConcurrencyLimit): Promise<Slot> {
  const slot = await concurrency.enter(never)
  if (slot === undefined) throw new Error('no slot')
  return slot
}

async function fill(concurrency: ConcurrencyLimit): Promise<Slot[]> {
  return Promise.all(Array.from({ length: concurrency.state().limit }, () => entered(concurrency)))
}

/** ConcurrencyLimit on a clock that the test moves, and requests that are worked on for a given time. */
function createClocked(): { readonly concurrency: ConcurrencyLimit; readonly work: (ms: number) => Promise<void> } {
  let nowMs = 0
  const concurrency = createConcurrencyLimit(() => nowMs)
  const work = async (ms: number): Promise<void> => {
    const slots = await fill(concurrency)
    nowMs += ms
    for (const slot of slots) slot.release()
  }
  return { concurrency, work }
}

test('past the limit requests wait, and one begins for each that ends, in order of arrival', async () => {
  const concurrency = createConcurrencyLimit()
  const [first, ...others] = await fill(concurrency)
  const began: number[] = []
  const waiting = [0, 1].map(async (number) => {
    const slot = await entered(concurrency)
    began.push(number)
    return slot
  })
  expect(concurrency.state()).toEqual({ limit: FIRST, active: FIRST, waiting: 2 })
  first?.release()
  const next = await waiting[0]
  expect({ began, ...concurrency.state() }).toMatchObject({ began: [0], active: FIRST, waiting: 1 })
  next?.release()
  for (const slot of [await waiting[1], ...others]) slot?.release()
  expect(concurrency.state()).toMatchObject({ active: 0, waiting: 0 })
})

test('a request whose slot does not come in time gets no slot, nor does one beyond those that may wait', async () => {
  const concurrency = createConcurrencyLimit()
  await fill(concurrency)
  const waiting = Array.from({ length: GATEWAY_BOUNDS.requestsWaitingMax }, () => concurrency.enter(never))
  expect(await concurrency.enter(never)).toBeUndefined()
  expect(concurrency.state().waiting).toBe(GATEWAY_BOUNDS.requestsWaitingMax)
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([undefined]))
  expect(concurrency.state().waiting).toBe(0)
})

test('after one waited in vain the rest is refused at once, until those that wait have had a slot', async () => {
  vi.useFakeTimers()
  const concurrency = createConcurrencyLimit()
  const [first] = await fill(concurrency)
  const late = concurrency.enter(never)
  await vi.advanceTimersByTimeAsync(GATEWAY_BOUNDS.requestSlotTimeoutMs / 2)
  const waiting = concurrency.enter(never)
  expect(concurrency.isOverloaded()).toBe(false)
  await vi.advanceTimersByTimeAsync(GATEWAY_BOUNDS.requestSlotTimeoutMs / 2)
  expect(await late).toBeUndefined()
  expect(concurrency.isOverloaded()).toBe(true)
  expect(await concurrency.enter(never)).toBeUndefined()
  expect(concurrency.state().waiting).toBe(1)
  first?.release()
  expect(await waiting).toBeDefined()
  expect(concurrency.isOverloaded()).toBe(false)
})

test('a caller who hangs up waits no longer, and takes no slot', async () => {
  const concurrency = createConcurrencyLimit()
  const [first] = await fill(concurrency)
  const caller = new AbortController()
  const waiting = concurrency.enter(caller.signal)
  caller.abort()
  expect(await waiting).toBeUndefined()
  expect(await concurrency.enter(caller.signal)).toBeUndefined()
  first?.release()
  expect(concurrency.state()).toMatchObject({ active: FIRST - 1, waiting: 0 })
})

test('while a request awaits a provider another one is worked on; then it comes before those that wait', async () => {
  const concurrency = createConcurrencyLimit()
  const [first, second] = await fill(concurrency)
  const provider = Promise.withResolvers<string>()
  const order: string[] = []
  const whileReleased = first?.whileReleased(() => provider.promise).then((reply) => order.push(reply))
  const another = await entered(concurrency)
  const waiting = entered(concurrency).then((slot) => {
    order.push('waiting')
    return slot
  })
  provider.resolve('returning')
  await provider.promise
  expect({ order, ...concurrency.state() }).toEqual({ order: [], limit: FIRST, active: FIRST, waiting: 1 })
  second?.release()
  await whileReleased
  another.release()
  await waiting
  expect(order).toEqual(['returning', 'waiting'])
})

test('the limit falls to its least while the work takes too long, once for the requests of one moment', async () => {
  const { concurrency, work } = createClocked()
  const limits: number[] = []
  for (let n = 0; n < 40; n++) {
    await work(GATEWAY_BOUNDS.requestWorkTargetMs + 1)
    limits.push(concurrency.state().limit)
  }
  expect(limits[0]).toBe(Math.floor(FIRST * GATEWAY_BOUNDS.requestsActiveKeptShare))
  expect(limits).toEqual([...limits].sort((a, b) => b - a))
  expect(limits.at(-1)).toBe(MIN)
})

test('the limit grows to its most while the work is quick, and not while few requests come', async () => {
  const { concurrency, work } = createClocked()
  for (let n = 0; n < FIRST * 10; n++) (await entered(concurrency)).release()
  expect(concurrency.state().limit).toBe(FIRST)
  for (let n = 0; n < MAX; n++) await work(1)
  expect(concurrency.state().limit).toBeGreaterThan(FIRST)
  for (let n = 0; n < 2 * MAX; n++) await work(1)
  expect(concurrency.state().limit).toBe(MAX)
})

test('the time for which a request awaits a provider is no work', async () => {
  let nowMs = 0
  const concurrency = createConcurrencyLimit(() => nowMs)
  const slots = await fill(concurrency)
  const provider = Promise.withResolvers<void>()
  const replies = slots.map((slot) => slot.whileReleased(() => provider.promise))
  nowMs += GATEWAY_BOUNDS.requestWorkTargetMs + 1
  provider.resolve()
  await Promise.all(replies)
  for (const slot of slots) slot.release()
  expect(concurrency.state().limit).toBeGreaterThanOrEqual(FIRST)
})

test('admitted requests are bounded, those that await a provider included', async () => {
  const concurrency = createConcurrencyLimit()
  for (let n = 0; n < GATEWAY_BOUNDS.requestsAdmittedMax; n++)
    void (await entered(concurrency)).whileReleased(() => new Promise<void>(() => undefined))
  expect(concurrency.state()).toMatchObject({ active: 0 })
  expect(await concurrency.enter(never)).toBeUndefined()
})
