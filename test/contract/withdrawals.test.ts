import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { createArtifactStore } from '#core/index/format/store.ts'
import { storeUrl } from '#operator/demo/local/stack.ts'
import { readSigningKey } from '#operator/actions/reviewers.ts'
import { restore, showWithdrawals, withdraw, type WithdrawInput } from '#operator/actions/withdrawals.ts'
import { addEntitledProfile } from '#operator/actions/entitlements.ts'
import { ANSWERED_QUERY, KNOWLEDGE_BASE, type Caller } from '#test/support/caller.ts'
import { adjustedNowMs } from '#test/support/clock.ts'
import { reviewerKeyFile } from '#test/support/installation.ts'
import { expectEventually } from '#test/support/until.ts'
import { addProfile, copyKnowledgeBase } from './profiles.ts'
import { createCaller, service } from './service.ts'

/** The contract's bound on how long a withdrawal may take to reach every gateway. */
const EFFECT_MS = 5_000
const HELD = 'COB-M 2.1'
const NAMING = `What does ${HELD} say about cancelling?`
const REFERENCE = { text: HELD, normalized: 'rulebook:cob-m#2/1' }

const knowledgeBase = `withdrawn-${randomUUID().slice(0, 8)}`
const store = createArtifactStore(storeUrl(service.settings))
const { operator, owner } = service
const key = await readSigningKey(reviewerKeyFile(service.settings))

let caller: Caller
/** Shows every passage that is found, whatever the decision. */
let profile: string
beforeAll(async () => {
  await copyKnowledgeBase(KNOWLEDGE_BASE, knowledgeBase)
  caller = await createCaller({ knowledgeBase })
  profile = await addProfile(knowledgeBase, {}, 0)
  await addEntitledProfile(operator, caller.entitlement, profile)
})

const labels = async (query: string): Promise<readonly string[]> =>
  (await caller.ask({ query, profile })).retrieved().results.map(({ citation }) => citation.label)
const unsupported = async (query: string): Promise<unknown> =>
  (await caller.ask({ query })).retrieved().abstention.unsupported_explicit_references

async function expectWithinBound(read: () => Promise<unknown>, expected: unknown): Promise<void> {
  const beganMs = adjustedNowMs()
  await expectEventually(read, expected)
  expect(adjustedNowMs() - beganMs).toBeLessThan(EFFECT_MS)
}

async function withdrawn(what: string, change: Partial<WithdrawInput> = {}): ReturnType<typeof withdraw> {
  return withdraw(operator, store, { knowledgeBase, what, reason: 'corrected', ...change }, [key])
}

async function audited(action: string, id: string): Promise<readonly unknown[]> {
  const { rows } = await owner.query<{ detail: unknown }>(
    'select detail from audit where action = $1 and subject = $2',
    [action, `withdrawal:${id}`],
  )
  return rows
}

describe('A withdrawal', () => {
  test('of a provision takes it out of every version within 5 s; who names it learns that it is withdrawn', async () => {
    expect(await labels(ANSWERED_QUERY)).toContain(HELD)
    expect(await unsupported(NAMING)).toEqual([])
    const made = await withdrawn(HELD)
    expect(made).toMatchObject({ kind: 'provision', state: 'in force', passages: 2, signed_by: ['local reviewer'] })
    await expectWithinBound(() => unsupported(NAMING), [{ ...REFERENCE, reason: 'withdrawn' }])
    expect((await caller.ask({ query: NAMING })).retrieved()).toMatchObject({
      results: [],
      abstention: { decision: 'abstain' },
    })
    const left = await labels(ANSWERED_QUERY)
    expect(left.length).toBeGreaterThan(0)
    expect(left).not.toContain(HELD)
    expect(await audited('withdrawal.begin', made.id)).toMatchObject([
      { detail: { knowledge_base: knowledgeBase, reason: 'corrected', signed_by: ['local reviewer'] } },
    ])

    const ended = await restore(operator, made.id, 'checked', [key])
    expect(ended).toMatchObject({ state: 'restored', signed_by: ['local reviewer', 'local reviewer'] })
    await expectWithinBound(() => unsupported(NAMING), [])
    expect(await labels(ANSWERED_QUERY)).toContain(HELD)
    expect(await audited('withdrawal.restore', made.id)).toMatchObject([{ detail: { restored_because: 'checked' } }])
    await expect(restore(operator, made.id, 'again', [key])).rejects.toThrow('is restored already')
  })

  test('of a passage or of a document leaves the others, and the record says what was left out', async () => {
    const [first] = (await caller.ask({ query: ANSWERED_QUERY, profile })).retrieved().results
    if (first === undefined) throw new Error('the passage is not served')
    const passage = await withdrawn(first.chunk_id)
    await expectWithinBound(async () => (await labels(ANSWERED_QUERY)).includes(HELD), false)
    const ofDocument = async (): Promise<boolean> =>
      (await caller.ask({ query: ANSWERED_QUERY, profile, top_k: 10 }))
        .retrieved()
        .results.some(({ document }) => document.title === first.document.title)
    expect(await ofDocument()).toBe(true)
    const document = await withdrawn(first.document.title)
    expect(document).toMatchObject({ kind: 'document', label: first.document.title })
    await expectWithinBound(ofDocument, false)
    const { rows } = await owner.query<{ withdrawn: unknown }>(
      "select filters -> 'withdrawn' as withdrawn from reservations where entitlement_id = $1 order by admitted_at desc",
      [caller.entitlementId],
    )
    const [whole, chunk] = [
      { document: first.document.id, provisions: [], chunkId: '' },
      { document: first.document.id, provisions: [], chunkId: first.chunk_id },
    ]
    expect(rows[0]?.withdrawn).toEqual(document.id < passage.id ? [whole, chunk] : [chunk, whole])
    expect(rows.at(-1)?.withdrawn).toBeNull()
    const others = [`${document.id} (${document.label})`]
    expect(await restore(operator, passage.id, 'checked', [key])).toMatchObject({ others })
    await restore(operator, document.id, 'checked', [key])
    const listed = await showWithdrawals(operator, knowledgeBase, 10)
    expect(listed.map(({ id, state }) => [id, state]).slice(0, 2)).toEqual(
      [document, passage].map(({ id }) => [id, 'restored']),
    )
  })

  test('without the signatures that the policy asks for, or of something that is not held, is refused', async () => {
    const input = { knowledgeBase, what: HELD, reason: 'corrected' }
    await expect(withdraw(operator, store, input, [])).rejects.toThrow('the signatures of 1 different reviewers')
    await expect(withdrawn('COB-M 99.9')).rejects.toThrow('holds no passage, provision or document "COB-M 99.9"')
    await expect(withdrawn(HELD, { document: 'Another code' })).rejects.toThrow('in "Another code"')
    const { id } = await withdrawn(HELD)
    await restore(operator, id, 'checked', [key])
    const insert = owner.query(
      'insert into withdrawals (id, knowledge_base_id, document_id, provisions, chunk_id, label, reason, statement, ' +
        'signatures) select gen_random_uuid(), knowledge_base_id, document_id, provisions, chunk_id, label, reason, ' +
        "statement, '[]' from withdrawals where id = $1",
      [id],
    )
    await expect(insert).rejects.toThrow('about another withdrawal')
    await expect(owner.query('delete from withdrawals')).rejects.toThrow('never deleted')
  })
})
