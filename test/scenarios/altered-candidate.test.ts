import { randomBytes, randomUUID } from 'node:crypto'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { activePointer } from '#core/db/corpus-lists.ts'
import { inTransaction } from '#core/db/pool.ts'
import { insertReviewPolicy } from '#core/db/review-policies.ts'
import { retireReviewer } from '#core/db/reviewers.ts'
import { insertReview, newestSignedReviews, readPredecessor } from '#core/db/reviews.ts'
import { readVersion } from '#core/db/versions.ts'
import { DEFAULT_REVIEW_POLICY } from '#core/domain/review-policy.ts'
import { parseStatement, reviewStatementSchema, statementText } from '#core/domain/review-statements.ts'
import type { ReviewStatement } from '#core/domain/review-statements.ts'
import { builtInCorpus } from '#operator/demo/corpus.ts'
import { readSigningKey } from '#operator/actions/reviewers.ts'
import { withoutGuards } from '#test/support/postgres.ts'
import { insertTestReviewer, type TestReviewer } from '#test/support/reviews.ts'
import { openCandidateHarness, type CandidateHarness } from './candidate-harness.ts'

/**
 * One passage of the candidate says "need not" where the active version says "must". Every test tries one way of those
 * who operate to have it served, with the real command line, the roles of Postgres and the check of the job worker.
 */
const ALTERED = ['The finding must be renewed', 'The finding need not be renewed'] as const

let harness: CandidateHarness
let active: string
let altered: string
/** The first reviewer, whose key is in `first.pem`. */
let first: TestReviewer

beforeAll(async () => {
  harness = await openCandidateHarness()
  await Promise.all(['first', 'stranger'].map((name) => harness.keygen(name)))
  const { id } = await harness.jsonWithId('reviewers', 'add', 'First', '--public-key', harness.file('first.pub'))
  first = { id, name: 'First', key: await readSigningKey(harness.file('first.pem')) }
  active = await harness.build()
  await sign(active)
  expect(await harness.activated(active)).toBe('done')
  altered = await harness.build(ALTERED)
})
afterAll(() => harness?.close())

const file = (name: string): string => harness.file(name)
const refusal = (...args: readonly string[]): Promise<string> => harness.refusal(...args)

const APPROVED = ['--verdict', 'approved', '--note', 'read'] as const
function signing(version: string, key: string, ...further: readonly string[]): readonly string[] {
  return ['review', 'sign', version, '--key', file(`${key}.pem`), ...APPROVED, ...further]
}

async function sign(version: string, ...further: readonly string[]): Promise<void> {
  await harness.cli.json(...signing(version, 'first', ...further))
}

/** Neither the command line nor the worker makes the candidate active, and both say so in the same sentence. */
async function expectRefused(sentence: string | RegExp, version = altered): Promise<void> {
  const message = await harness.activated(version)
  expect(message).toMatch(sentence)
  expect(await refusal('activate', version, '--wait')).toBe(`${message}\n`)
  expect((await activePointer(harness.owner, harness.base.id))?.version_id).toBe(active)
}

/** The first reviewer's newest statement about the candidate, and her signature. */
async function signedByFirst(version: string): Promise<{ statement: ReviewStatement; signature: Buffer }> {
  const predecessor = await readPredecessor(harness.owner, harness.base.id)
  const reviews = await newestSignedReviews(harness.owner, { versionId: version, predecessor })
  const review = reviews.find(({ reviewer_id: id }) => id === first.id)
  const statement = parseStatement<ReviewStatement>(reviewStatementSchema, review?.statement ?? '')
  if (review === undefined || statement === undefined) throw new Error('the first reviewer signed nothing')
  return { statement, signature: review.signature }
}

/** Inserts a row as the operator's role may. */
async function insertForged(statement: ReviewStatement, signature: Buffer, versionId = altered): Promise<void> {
  const { predecessor, predecessor_activation: activation, verdict, reviewer } = statement
  const row = {
    id: randomUUID(),
    versionId,
    predecessor: { versionId: predecessor, activation },
    verdict,
    reviewer,
    note: '',
  }
  await insertReview(harness.operator, { ...row, statement: statementText(statement), signature })
}

async function statementAbout(version: string): Promise<ReviewStatement> {
  const row = await readVersion(harness.owner, version)
  if (row === undefined) throw new Error('no such version')
  return {
    format: 'evidence review 1',
    knowledge_base: harness.base,
    candidate: version,
    predecessor: active,
    predecessor_activation: (await readPredecessor(harness.owner, harness.base.id)).activation,
    manifest_sha256: row.manifest_digest.toString('hex'),
    profile: { id: row.profile_id, sha256: row.profile_sha256 },
    report_sha256: row.report_sha256,
    figures_sha256: row.figures_sha256,
    changes_sha256: row.changes_sha256,
    question_set: row.question_set,
    withdrawals_decided: row.withdrawals_decided,
    withdrawals_restored: row.withdrawals_restored,
    verdict: 'approved',
    accepts: [
      { kind: 'provisions_changed', count: 1 },
      { kind: 'passages_changed', count: 1 },
    ],
    note: '',
    reviewer: { id: first.id, name: first.name },
    audit_head: null,
  }
}

const ACCEPT = ['--accept', 'provisions_changed,passages_changed'] as const
const UNAPPROVED = /^No active reviewer approves the step from the active version to this one/

describe('a candidate in which one "must" became "need not"', () => {
  test('is not activated without a review, nor by a rollback', async () => {
    await expectRefused(UNAPPROVED)
    expect(await refusal('rollback', harness.base.slug, '--to', altered)).toContain('never active')
  })

  test('is not activated by SQL of the operator or of the jobs', async () => {
    const activates = 'update corpus_versions set state = $2 where id = $1'
    await expect(harness.operator.query(activates, [altered, 'active'])).rejects.toThrow(
      'only after the pointer names it',
    )
    await expect(
      harness.operator.query('update active_versions set version_id = $1 where knowledge_base_id = $2', [
        altered,
        harness.base.id,
      ]),
    ).rejects.toThrow('permission denied')
    const moves = 'update active_versions set version_id = $1 where knowledge_base_id = $2'
    const moved = inTransaction(harness.service, async (client) => {
      await client.query(moves, [altered, harness.base.id])
      await client.query(activates, [altered, 'active'])
      await client.query(activates, [active, 'retired'])
    })
    await expect(moved).rejects.toThrow('only if enough reviewers approve this transition')
    const approves =
      "insert into reviews (id, version_id, verdict, reviewer, note) values ($1, $2, 'approved', 'r', '')"
    await expect(harness.operator.query(approves, [randomUUID(), altered])).rejects.toThrow(
      'the statement is about another review',
    )
    await expect(harness.service.query(approves, [randomUUID(), altered])).rejects.toThrow('permission denied')
    await expectRefused(UNAPPROVED)
  })

  test('is not approved without accepting the change by name', async () => {
    expect(await refusal(...signing(altered, 'first'))).toMatch(
      /add --accept provisions_changed,passages_changed: .*1 passage changed beyond the limit 0\.\n$/,
    )
    expect(await refusal(...signing(altered, 'first', '--accept', 'provisions_changed'))).toContain('1 passage changed')
    expect(await refusal(...signing(altered, 'first', '--accept', 'ranking'))).toContain('leave it out of --accept')
    await expectRefused(UNAPPROVED)
  })

  test('is not approved by a key that no reviewer endorsed', async () => {
    expect(await refusal(...signing(altered, 'stranger', ...ACCEPT))).toContain('The key belongs to no reviewer')
    const add = ['reviewers', 'add', 'Stranger', '--public-key', file('stranger.pub')] as const
    expect(await refusal(...add)).toContain('An active reviewer endorses every reviewer but the first')
    expect(await refusal(...add, '--key', file('stranger.pem'))).toContain('The key belongs to no reviewer')
    const key = await readSigningKey(file('stranger.pem'))
    await expect(insertTestReviewer(harness.operator, 'Stranger', key)).rejects.toThrow('active reviewers endorse')
    // Postgres cannot see that this endorsement is the stranger's own.
    const stranger = await insertTestReviewer(harness.operator, 'Stranger', key, { ...first, key })
    expect(await refusal(...signing(altered, 'stranger', ...ACCEPT))).toContain('The key belongs to no reviewer')
    const about = await statementAbout(altered)
    await insertForged({ ...about, reviewer: { id: stranger.id, name: stranger.name } }, randomBytes(64))
    await expectRefused(UNAPPROVED)
  })

  test('is not activated by the approval of a reviewer who retired', async () => {
    await harness.keygen('second')
    const second = ['--public-key', file('second.pub'), '--key', file('first.pem')] as const
    const { id } = await harness.jsonWithId('reviewers', 'add', 'Second', ...second)
    await harness.cli.json(...signing(altered, 'second', ...ACCEPT))
    await retireReviewer(harness.operator, id)
    await expectRefused(UNAPPROVED)
    expect(await refusal(...signing(altered, 'second', ...ACCEPT))).toContain('"Second" is retired')
  })

  test('is not activated by a signature of other bytes', async () => {
    const other = await harness.build(['every 2 years', 'every 3 years'])
    await sign(other, ...ACCEPT)
    const { statement, signature } = await signedByFirst(other)
    await expect(insertForged(statement, signature)).rejects.toThrow('the statement is about another review')
    const broken = /^The signature of the review of "First" does not hold/
    await insertForged({ ...statement, ...(await statementAbout(altered)) }, signature)
    await expectRefused(broken)
    await insertForged(await statementAbout(altered), randomBytes(64))
    await expectRefused(broken)
    // An approval of the other candidate, to which an acceptance was added after it was signed.
    await insertForged(
      { ...statement, accepts: [...statement.accepts, { kind: 'ranking', count: 1 }] },
      signature,
      other,
    )
    await expectRefused(broken, other)
  })

  test('is not let through by limits that nobody signed', async () => {
    const raise = [
      'knowledge-bases',
      'policy',
      harness.base.slug,
      '--limit',
      'passages_changed=9,provisions_changed=9',
    ] as const
    expect(await refusal(...raise)).toContain('0 signed')
    expect(await refusal(...raise, '--key', file('stranger.pem'))).toContain('The key belongs to no reviewer')
    const policy = { ...DEFAULT_REVIEW_POLICY, limits: { passages_changed: 9, provisions_changed: 9 } }
    const head = { knowledge_base: harness.base, seq: 1, previous_sha256: null } as const
    const statement = statementText({ format: 'evidence review policy 1', ...head, policy })
    const row = { knowledge_base_id: harness.base.id, seq: 1, statement }
    const insert = (signatures: Parameters<typeof insertReviewPolicy>[1]['signatures']): Promise<boolean> =>
      insertReviewPolicy(harness.operator, { ...row, signatures })
    await expect(insert([])).rejects.toThrow('signed by as many active reviewers')
    await insert([{ reviewer: first.id, signature: randomBytes(64).toString('base64') }])
    await expectRefused(/^Review policy 1 of the knowledge base is not signed by its reviewers/)
    await withoutGuards(harness.owner, 'delete from review_policies', [])
  })

  test('is not approved with a report that was altered', async () => {
    const report = harness.store.reportFile(altered)
    const before = readFileSync(report)
    appendFileSync(report, '<p>Nothing changed.</p>')
    expect(await refusal(...signing(altered, 'first', ...ACCEPT))).toContain(
      'The report file of the version is altered',
    )
    writeFileSync(report, before)
    const changes = harness.store.changesFile(altered)
    const list = readFileSync(changes)
    writeFileSync(changes, '')
    expect(await refusal(...signing(altered, 'first', ...ACCEPT))).toContain(
      'The changes file of the version is altered',
    )
    writeFileSync(changes, list)
  })

  test('is not hidden by an easy question set, nor by other names of documents', async () => {
    const lines = readFileSync(builtInCorpus().questionsFile ?? '', 'utf8').split('\n')
    const easyLines = lines.filter((line) => /"hsfa-conduct-harbour#cob-f-(?!1-2)/.test(line))
    expect(easyLines.length).toBeGreaterThan(1)
    const questions = await harness.storeQuestions(easyLines.map((line): unknown => JSON.parse(line)))
    const easy = await harness.build(ALTERED, { questions_sha256: questions })
    expect(await refusal(...signing(easy, 'first'))).toContain('1 passage changed beyond the limit 0')
    await expectRefused(UNAPPROVED, easy)
    const renamed = await harness.build(['document: hsfa-conduct-harbour', 'document: hsfa-conduct-of-business'])
    expect(await refusal(...signing(renamed, 'first'))).toMatch(
      /1 document removed.*passages removed beyond the limit 0/,
    )
    await expectRefused(UNAPPROVED, renamed)
  })

  test('is not activated by an approval from before another version became active', async () => {
    await sign(altered, ...ACCEPT)
    const next = await harness.build(['every 2 years', 'every 4 years'])
    await sign(next, ...ACCEPT)
    expect(await harness.activated(next)).toBe('done')
    active = next
    await expectRefused(/^The version was compared with another one than the active version/)
    expect(await refusal(...signing(altered, 'first', ...ACCEPT))).toContain('compared with another one')
  })

  test('is not activated with a ranking that nobody signed', async () => {
    const again = await harness.build(ALTERED)
    await sign(again, ...ACCEPT)
    const alter = 'update corpus_versions set profile = profile || $2 where id = $1'
    await withoutGuards(harness.owner, alter, [again, JSON.stringify({ per_document_max: 1 })])
    await expectRefused(/^The review of "First" is about other bytes than those on record/, again)
  })

  test('becomes active by a signed acceptance, and the audit row names reviewer and change', async () => {
    const again = await harness.build(ALTERED)
    await sign(again, ...ACCEPT)
    const asked = await harness.cli.run('activate', again)
    expect(asked.code).toBe(0)
    expect(asked.stderr).toMatch(
      /0 removed, 1 changed[\s\S]*Approved by "First", who accepted provisions_changed \(1\), passages_changed \(1\)/,
    )
    const { rows: queued } = await harness.owner.query<{ id: string }>(
      "select id from activations where version_id = $1 and state = 'queued'",
      [again],
    )
    await harness.runActivation(queued[0]?.id ?? '')
    expect((await activePointer(harness.owner, harness.base.id))?.version_id).toBe(again)
    const { rows } = await harness.owner.query<{ detail: { first_changes: readonly string[] } }>(
      "select detail from audit where action = 'version.activate' and subject = $1",
      [`version:${again}`],
    )
    expect(rows).toMatchObject([
      {
        detail: {
          predecessor: active,
          approved_by: [{ id: first.id, name: 'First' }],
          accepted: [
            { kind: 'provisions_changed', count: 1 },
            { kind: 'passages_changed', count: 1 },
          ],
          changes_sha256: (await readVersion(harness.owner, again))?.changes_sha256,
        },
      },
    ])
    expect(rows[0]?.detail.first_changes).toContainEqual(expect.stringMatching(/^passages_changed: COB-F \d/))
    expect(await harness.cli.json('audit', 'verify')).toBeDefined()
  })
})
