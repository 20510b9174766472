import { afterEach, expect, test, vi } from 'vitest'
import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'
import { createCapacity } from '#gateway/retrieve/capacity.ts'
import type { Capacity, Turn } from '#gateway/retrieve/capacity.ts'

const { requestsWorkedOnMin: MIN, requestsWorkedOnFirst: FIRST, requestsWorkedOnMax: MAX } = GATEWAY_BOUNDS
const never = new AbortController().signal

afterEach(() => vi.useRealTimers())

async function entered(capacity: Capacity): Promise<Turn> {
  const turn = await capacity.enter(never)
  if (turn === undefined) throw new Error('no turn')
  return turn
}

async function fill(capacity: Capacity): Promise<Turn[]> {
  return Promise.all(Array.from({ length: capacity.state().limit }, () => entered(capacity)))
}

/** Capacity on a clock that the test moves, and requests that are worked on for a given time. */
function createClocked(): { readonly capacity: Capacity; readonly work: (ms: number) => Promise<void> } {
  let nowMs = 0
  const capacity = createCapacity(() => nowMs)
  const work = async (ms: number): Promise<void> => {
    const turns = await fill(capacity)
    nowMs += ms
    for (const turn of turns) turn.end()
  }
  return { capacity, work }
}

test('past the limit requests wait, and one begins for each that ends, in order of arrival', async () => {
  const capacity = createCapacity()
  const [first, ...others] = await fill(capacity)
  const began: number[] = []
  const waiting = [0, 1].map(async (number) => {
    const turn = await entered(capacity)
    began.push(number)
    return turn
  })
  expect(capacity.state()).toEqual({ limit: FIRST, workedOn: FIRST, waiting: 2 })
  first?.end()
  const next = await waiting[0]
  expect({ began, ...capacity.state() }).toMatchObject({ began: [0], workedOn: FIRST, waiting: 1 })
  next?.end()
  for (const turn of [await waiting[1], ...others]) turn?.end()
  expect(capacity.state()).toMatchObject({ workedOn: 0, waiting: 0 })
})

test('a request whose turn does not come in time gets no turn, nor does one beyond those that may wait', async () => {
  const capacity = createCapacity()
  await fill(capacity)
  const waiting = Array.from({ length: GATEWAY_BOUNDS.requestsWaitingMax }, () => capacity.enter(never))
  expect(await capacity.enter(never)).toBeUndefined()
  expect(capacity.state().waiting).toBe(GATEWAY_BOUNDS.requestsWaitingMax)
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([undefined]))
  expect(capacity.state().waiting).toBe(0)
})

test('after one waited in vain the rest is refused at once, until those that wait have had their turn', async () => {
  vi.useFakeTimers()
  const capacity = createCapacity()
  const [first] = await fill(capacity)
  const late = capacity.enter(never)
  await vi.advanceTimersByTimeAsync(GATEWAY_BOUNDS.requestTurnTimeoutMs / 2)
  const waiting = capacity.enter(never)
  expect(capacity.isOverloaded()).toBe(false)
  await vi.advanceTimersByTimeAsync(GATEWAY_BOUNDS.requestTurnTimeoutMs / 2)
  expect(await late).toBeUndefined()
  expect(capacity.isOverloaded()).toBe(true)
  expect(await capacity.enter(never)).toBeUndefined()
  expect(capacity.state().waiting).toBe(1)
  first?.end()
  expect(await waiting).toBeDefined()
  expect(capacity.isOverloaded()).toBe(false)
})

test('a caller who hangs up waits no longer, and takes no turn', async () => {
  const capacity = createCapacity()
  const [first] = await fill(capacity)
  const caller = new AbortController()
  const waiting = capacity.enter(caller.signal)
  caller.abort()
  expect(await waiting).toBeUndefined()
  expect(await capacity.enter(caller.signal)).toBeUndefined()
  first?.end()
  expect(capacity.state()).toMatchObject({ workedOn: FIRST - 1, waiting: 0 })
})

test('while a request awaits a provider another one is worked on; then it comes before those that wait', async () => {
  const capacity = createCapacity()
  const [first, second] = await fill(capacity)
  const provider = Promise.withResolvers<string>()
  const order: string[] = []
  const aside = first?.aside(() => provider.promise).then((reply) => order.push(reply))
  const another = await entered(capacity)
  const waiting = entered(capacity).then((turn) => {
    order.push('waiting')
    return turn
  })
  provider.resolve('returning')
  await provider.promise
  expect({ order, ...capacity.state() }).toEqual({ order: [], limit: FIRST, workedOn: FIRST, waiting: 1 })
  second?.end()
  await aside
  another.end()
  await waiting
  expect(order).toEqual(['returning', 'waiting'])
})

test('the limit falls to its least while the work takes too long, once for the requests of one moment', async () => {
  const { capacity, work } = createClocked()
  const limits: number[] = []
  for (let n = 0; n < 40; n++) {
    await work(GATEWAY_BOUNDS.requestWorkTargetMs + 1)
    limits.push(capacity.state().limit)
  }
  expect(limits[0]).toBe(Math.floor(FIRST * GATEWAY_BOUNDS.requestsWorkedOnKeptShare))
  expect(limits).toEqual([...limits].sort((a, b) => b - a))
  expect(limits.at(-1)).toBe(MIN)
})

test('the limit grows to its most while the work is quick, and not while few requests come', async () => {
  const { capacity, work } = createClocked()
  for (let n = 0; n < FIRST * 10; n++) (await entered(capacity)).end()
  expect(capacity.state().limit).toBe(FIRST)
  for (let n = 0; n < MAX; n++) await work(1)
  expect(capacity.state().limit).toBeGreaterThan(FIRST)
  for (let n = 0; n < 2 * MAX; n++) await work(1)
  expect(capacity.state().limit).toBe(MAX)
})

test('the time for which a request awaits a provider is no work', async () => {
  let nowMs = 0
  const capacity = createCapacity(() => nowMs)
  const turns = await fill(capacity)
  const provider = Promise.withResolvers<void>()
  const replies = turns.map((turn) => turn.aside(() => provider.promise))
  nowMs += GATEWAY_BOUNDS.requestWorkTargetMs + 1
  provider.resolve()
  await Promise.all(replies)
  for (const turn of turns) turn.end()
  expect(capacity.state().limit).toBeGreaterThanOrEqual(FIRST)
})

test('requests under way are bounded, those that await a provider included', async () => {
  const capacity = createCapacity()
  for (let n = 0; n < GATEWAY_BOUNDS.requestsUnderWayMax; n++)
    void (await entered(capacity)).aside(() => new Promise<void>(() => undefined))
  expect(capacity.state()).toMatchObject({ workedOn: 0 })
  expect(await capacity.enter(never)).toBeUndefined()
})
