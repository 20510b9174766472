import { afterAll, beforeAll, expect, test } from 'vitest'
import { readActivation } from '#core/db/activations.ts'
import { planRollback, requestActivation, requestRollback } from '#operator/actions/activations.ts'
import { withQueues } from '#operator/command-line/queues.ts'
import { enqueueActivation } from '#jobs/platform/queues.ts'
import type { Answer } from '#test/support/http.ts'
import { ANSWERED_QUERY, KNOWLEDGE_BASE, startTestService } from '#test/support/service.ts'
import type { Caller, TestService } from '#test/support/service.ts'
import { WITH_FEW_QUERIES } from '#test/support/processes.ts'
import { failuresOf, servedOf, startLoad, type Load } from '#test/support/load.ts'
import { arrivalOf, startTestProvider, type TestProvider } from '#test/support/embedding-endpoint.ts'
import { until } from '#test/support/until.ts'
import { approvedCandidates, passagesOf } from './approved-candidates.ts'
import { adjustedNowMs } from '#test/support/clock.ts'

/** The contract's bound on a change reaching every gateway. */
const VISIBLE_WITHIN_MS = 5_000
const CHANGE = {
  file: 'hsfa-conduct-mainland.2024-07-01.md',
  from: 'within 14 calendar days. The cooling-off period',
  to: 'within 21 calendar days. The cooling-off period',
}

let provider: TestProvider
let service: TestService
let caller: Caller
let load: Load
beforeAll(async () => {
  provider = await startTestProvider()
  service = await startTestService({
    gateways: 2,
    searchNodes: 2,
    embedding: 'openai',
    environment: { ...provider.environment, BUILD_CONCURRENCY: '2', NODE_OPTIONS: WITH_FEW_QUERIES },
  })
  caller = await service.createCaller()
})
afterAll(async () => {
  await load?.stop()
  await service?.stop()
  await provider?.stop()
})

const versionOf = (answer: Answer | undefined): string | undefined =>
  answer?.status === 200 ? answer.retrieved().version : undefined

/**
 * Waits until the load has seen the version at every gateway, then asserts that this took no longer than the bound and
 * that no gateway went back.
 */
async function assertVisible(version: string, sinceMs: number): Promise<void> {
  for (const { baseUrl } of service.gateways) {
    const firstSeen = await load.until(`${baseUrl} serves the version`, (all) =>
      all.find((each) => each.baseUrl === baseUrl && each.sentMs >= sinceMs && versionOf(each.answer) === version),
    )
    expect(firstSeen.sentMs - sinceMs).toBeLessThan(VISIBLE_WITHIN_MS)
    const later = await load.until('the load went on', (all) => {
      const sent = all.filter((each) => each.baseUrl === baseUrl && each.sentMs > firstSeen.repliedMs)
      return sent.length >= 20 && sent
    })
    expect(new Set(servedOf(later).map((answer) => versionOf(answer)))).toEqual(new Set([version]))
  }
}

/** Locks the rows of activations, so that none moves the pointer. */
async function lockActivations(ids: readonly string[]): Promise<{ unlock(): Promise<void> }> {
  const client = await service.owner.connect()
  await client.query('begin')
  await client.query('select from activations where id = any($1) for update', [ids])
  return {
    unlock: async () => {
      await client.query('commit')
      client.release()
    },
  }
}

/** A transaction waits for a lock: the search nodes have loaded a candidate, and its pointer is about to move. */
async function aboutToMove(): Promise<boolean> {
  const { rows } = await service.owner.query(
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  )
  return rows.length > 0
}

async function activeVersion(): Promise<string | undefined> {
  const { rows } = await service.owner.query<{ version_id: string }>(
    'select version_id from active_versions join knowledge_bases on id = knowledge_base_id where slug = $1',
    [KNOWLEDGE_BASE],
  )
  return rows[0]?.version_id
}

async function finished(
  activationId: string,
): Promise<{ readonly state: string; readonly message: string | null; readonly version_id: string }> {
  return until('the activation is finished', async () => {
    const row = await readActivation(service.owner, activationId)
    return row?.state !== 'queued' && row
  })
}

test(
  'under load, one of two activations against the same predecessor wins, a rollback follows even if ' +
    'its job is lost, and no request fails',
  async () => {
    const first = service.versionId
    const candidates = await approvedCandidates(service, CHANGE, 2)
    load = startLoad(
      caller,
      service.gateways.map(({ baseUrl }) => baseUrl),
      { callers: 2, pauseMs: 100 },
    )
    await load.until('every gateway serves', (sent) => sent.length >= 20)
    const asked = await withQueues(service.settings.redisUrl, (open) =>
      Promise.all(
        candidates.map((version) =>
          requestActivation(service.operator, { version }, (id) => enqueueActivation(open('activate'), id)),
        ),
      ),
    )
    const locks = await lockActivations(asked.map(({ id }) => id))
    const query = `${ANSWERED_QUERY} `
    const held = provider.hold(query)
    const askBeforeMove = async (): Promise<{ readonly reply: Promise<Answer> }> => {
      try {
        await until('an activation is about to move the pointer', aboutToMove)
        const reply = caller.ask({ query })
        await arrivalOf(held, reply)
        return { reply }
      } finally {
        // A lock that stays would hold the end of the service, too.
        await locks.unlock()
      }
    }
    const { reply: pinned } = await askBeforeMove()
    await until('the pointer moved', async () => (await activeVersion()) !== first)
    held.release()
    const old = (await pinned).retrieved()
    const outcomes = await Promise.all(asked.map(({ id }) => finished(id)))
    const activatedMs = adjustedNowMs()
    expect(outcomes.map(({ state }) => state).toSorted()).toEqual(['done', 'refused'])
    expect(outcomes.find(({ state }) => state === 'refused')?.message).toContain(
      'Another version became active since this was asked for',
    )
    expect(old.version).toBe(first)
    expect(old.results[0]?.text).toContain('within 14 calendar days')
    const second = outcomes.find(({ state }) => state === 'done')?.version_id ?? ''
    await assertVisible(second, activatedMs)

    const plan = await planRollback(service.operator, KNOWLEDGE_BASE)
    const rollback = await requestRollback(service.operator, plan, async () => undefined)
    expect(await finished(rollback.id)).toMatchObject({ state: 'done', version_id: first })
    await assertVisible(first, adjustedNowMs())

    const sent = await load.stop()
    expect(failuresOf(sent)).toEqual([])
    await assertPassagesBelong(servedOf(sent), first, second)
  },
)

async function assertPassagesBelong(answers: readonly Answer[], first: string, second: string): Promise<void> {
  const passages = new Map([
    [first, passagesOf(service, first)],
    [second, passagesOf(service, second)],
  ])
  const served = new Set<string>()
  for (const answer of answers) {
    const reply = answer.retrieved()
    const own = passages.get(reply.version)
    if (own === undefined) throw new Error('a reply names neither version')
    served.add(reply.version)
    for (const { chunk_id, text } of reply.results) expect(own.get(chunk_id)).toBe(text)
    expect(reply.results[0]?.text).toContain(
      reply.version === first ? 'within 14 calendar days' : 'within 21 calendar days',
    )
  }
  expect(served).toEqual(new Set([first, second]))
  const [before, after] = [passages.get(first), passages.get(second)]
  const changed = [...(before ?? [])].filter(([chunkId]) => after?.has(chunkId) !== true)
  expect(changed.length).toBe(1)
  expect(changed[0]?.[1]).toContain('within 14 calendar days')
  expect(after?.size).toBe(before?.size)
}
