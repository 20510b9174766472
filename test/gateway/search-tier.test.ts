import { status, type sendUnaryData } from '@grpc/grpc-js'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { createLog } from '#core/platform/log.ts'
import type { SearchQuery } from '#core/domain/search.ts'
import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'
import { openSearchTier, type SearchTier } from '#gateway/search-tier.ts'
import { startFaultProxy } from '#test/support/proxy.ts'
import { expectEventually } from '#test/support/until.ts'
import { PLAINTEXT, startFakeNode, type FakeNode } from '#test/support/search-node.ts'

const values = { languages: [], jurisdictions: [], subjects: [], anySubject: true, verificationStatuses: [] }
const filters = { ...values, inForceOn: '', documents: [] }
const query: SearchQuery = {
  versionId: '7f3ad0a2-8d5c-4f34-9f2b-0b8f1f3c9d11',
  vector: undefined,
  text: 'capital',
  limit: 1,
  filters,
  entitled: filters,
  ranking: { rowsScoredMin: 0, denseWeight: 0.5, perDocumentMax: 0, collapseRevisionsOn: '' },
}
const EMPTY = { passages: [], plan: 'none', allowed: 0, predictors: [], unsupported: [] }

type Answers = (reply: sendUnaryData<object>) => void
const found: Answers = (reply) => reply(null, EMPTY)
const refuses =
  (code: status): Answers =>
  (reply) =>
    reply({ code })

let nodes: readonly FakeNode[]
let tier: SearchTier
/** The nodes that were asked, in order. */
let asked: number[]
let answers: Answers[]
/** Resolves at the next search that a node receives. */
let arrived: PromiseWithResolvers<void>
/** The tier's clock stands still, so that no cool-down ends before a test moves it. */
let nowMs: number

beforeEach(async () => {
  asked = []
  answers = [found, found]
  nowMs = 5
  arrived = Promise.withResolvers()
  nodes = await Promise.all(
    [0, 1].map((index) =>
      startFakeNode(
        () => undefined,
        (reply) => {
          asked.push(index)
          arrived.resolve()
          answers[index]?.(reply)
        },
        index === 1 ? [query.versionId] : [],
      ),
    ),
  )
  const addresses = nodes.map(({ address }) => address).join(',')
  tier = await openSearchTier(addresses, PLAINTEXT, createLog('test', 'silent'), () => nowMs)
})
afterEach(() => {
  tier.close()
  for (const node of nodes) node.stop()
})

const search = (
  timeoutMs: number = PLATFORM_BOUNDS.searchTimeoutMs,
  signal = new AbortController().signal,
): Promise<unknown> => tier.search(query, timeoutMs, signal)

/** The nodes that the next two searches ask first; each another one, unless one of them cools down. */
async function nextAsked(): Promise<readonly number[]> {
  answers = [found, found]
  asked = []
  await search()
  await search()
  return asked.toSorted((a, b) => a - b)
}

test('a node whose version is damaged is passed over, and the other node answers', async () => {
  answers = [refuses(status.DATA_LOSS), found]
  expect([await search(), await search()]).toMatchObject([EMPTY, EMPTY])
  expect(asked).toContain(0)
})

describe('a node is asked last', () => {
  test('and still asked where every other one is left alone, too', async () => {
    for (let again = 0; again < 2; again++) {
      answers = [refuses(status.UNAVAILABLE), refuses(status.UNAVAILABLE)]
      asked = []
      await expect(search()).rejects.toMatchObject({ code: status.UNAVAILABLE })
      expect(asked.toSorted((a, b) => a - b)).toEqual([0, 1])
    }
  })

  test('until one trial after each pause has ended, and twice as long after one that failed, up to a bound', async () => {
    const { searchNodeCoolDownMs: firstMs, searchNodeCoolDownMaxMs: mostMs } = GATEWAY_BOUNDS
    const fourAsk = async (): Promise<number> => {
      answers = [refuses(status.UNAVAILABLE), found]
      asked = []
      await Promise.all(Array.from({ length: 4 }, () => search()))
      return asked.filter((node) => node === 0).length
    }
    expect(await fourAsk()).toBeGreaterThan(0)
    for (let trial = 0; trial < 8; trial++) {
      nowMs += Math.min(firstMs * 2 ** trial, mostMs) - 1
      expect(await fourAsk()).toBe(0)
      nowMs++
      expect(await fourAsk()).toBe(1)
    }
  })

  test('not because a caller hung up', async () => {
    answers = [() => undefined, () => undefined]
    const hangingUp = new AbortController()
    const lost = search(PLATFORM_BOUNDS.searchTimeoutMs, hangingUp.signal)
    await arrived.promise
    hangingUp.abort()
    await expect(lost).rejects.toMatchObject({ code: status.CANCELLED })
    expect(asked.length).toBe(1)
    expect(await nextAsked()).toEqual([0, 1])
  })

  test('not because a request had less time left than an attempt gets', async () => {
    answers = [() => undefined, () => undefined]
    await expect(search(GATEWAY_BOUNDS.searchAttemptTimeoutMs / 2)).rejects.toMatchObject({
      code: status.DEADLINE_EXCEEDED,
    })
    expect(await nextAsked()).toEqual([0, 1])
  })

  test('not because it refused a request that every node refuses', async () => {
    answers = [refuses(status.INVALID_ARGUMENT), refuses(status.INVALID_ARGUMENT)]
    await expect(search()).rejects.toMatchObject({ code: status.INVALID_ARGUMENT })
    expect(asked.length).toBe(1)
    expect(await nextAsked()).toEqual([0, 1])
  })
})

test('a node that lacks the version by its own word is asked last, and still where no other is left', async () => {
  expect(await nextAsked()).toEqual([0, 1])
  await tier.isReachable(GATEWAY_BOUNDS.dependencyCheckTimeoutMs)
  await expectEventually(nextAsked, [1, 1])
  answers = [found, refuses(status.UNAVAILABLE)]
  expect(await search()).toMatchObject(EMPTY)
})

test('a connection that the network forgot costs one late call: the next has another one', async () => {
  const proxy = await startFaultProxy(`grpc://${nodes[0]?.address}`)
  const one = await openSearchTier(new URL(proxy.url).host, PLAINTEXT, createLog('test', 'silent'))
  const ask = (): Promise<unknown> => one.search(query, PLATFORM_BOUNDS.searchTimeoutMs, new AbortController().signal)
  expect(await ask()).toMatchObject(EMPTY)
  proxy.forget()
  await expect(ask()).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED })
  expect(await ask()).toMatchObject(EMPTY)
  one.close()
  await proxy.stop()
})

test('a search whose caller has already hung up asks no node', async () => {
  await expect(search(PLATFORM_BOUNDS.searchTimeoutMs, AbortSignal.abort())).rejects.toThrow('aborted')
  expect(asked).toEqual([])
})
