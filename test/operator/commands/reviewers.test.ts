import { execFileSync } from 'node:child_process'
import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { listReviewers, retireReviewer } from '#core/db/reviewers.ts'
import { planActivation } from '#operator/actions/activations.ts'
import { readSigningKey } from '#operator/actions/reviewers.ts'
import { signReview } from '#operator/actions/reviews.ts'
import { commandLine } from '#test/support/operator-cli.ts'
import { candidate, openCorpusHarness } from '#test/support/operator-corpus.ts'
import { createTestKey, insertSignedReview, insertTestReviewer } from '#test/support/reviews.ts'

/** Signs outside of the command line, as a reviewer with a key of their own does. */
const OPENSSL = 'openssl'
const harness = await openCorpusHarness()
afterAll(() => harness.close())

/** A file of the test. */
const file = (name: string): string => join(harness.folder, name)

async function keygen(name: string): Promise<void> {
  const { stdout } = await harness.cli.run('reviewers', 'keygen', '--out', file(`${name}.pem`))
  writeFileSync(file(`${name}.pub`), stdout)
}

async function refusal(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await harness.cli.run(...args)
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  return stderr.trimEnd()
}

/** The tests run in sequence: the first reviewer endorses the second. */
describe('reviewers', () => {
  test('keygen writes a private key for its owner alone, prints the public one, and never overwrites', async () => {
    await Promise.all(['first', 'second', 'stranger'].map(keygen))
    expect(statSync(file('first.pem')).mode & 0o777).toBe(0o600)
    expect(readFileSync(file('first.pub'), 'utf8')).toMatch(
      /^-----BEGIN PUBLIC KEY-----\n[\s\S]+-----END PUBLIC KEY-----\n$/,
    )
    const before = readFileSync(file('first.pem'), 'utf8')
    expect(await refusal('reviewers', 'keygen', '--out', file('first.pem'))).toContain(
      'exists already and is not overwritten',
    )
    expect(readFileSync(file('first.pem'), 'utf8')).toBe(before)
  })

  test('the first is added without an endorsement, which the trail says, and every other one needs one', async () => {
    expect(await refusal('reviewers', 'add', 'First', '--public-key', file('first.pem'))).toContain(
      'is not an Ed25519 public key',
    )
    const added = z
      .object({ id: z.uuid(), endorsed_by: z.array(z.never()) })
      .parse(await harness.cli.json('reviewers', 'add', 'First', '--public-key', file('first.pub')))
    const { rows } = await harness.owner.query("select subject, detail from audit where action = 'reviewer.add'")
    expect(rows).toEqual([
      {
        subject: `reviewer:${added.id}`,
        detail: { name: 'First', login: null, endorsed_by: [], without_endorsement: true },
      },
    ])
    const second = ['reviewers', 'add', 'Second', '--public-key', file('second.pub')] as const
    expect(await refusal(...second)).toBe(
      'An active reviewer endorses every reviewer but the first: add --key with a private key.',
    )
    expect(await refusal(...second, '--key', file('stranger.pem'))).toContain('The key belongs to no reviewer')
    expect(await harness.cli.json(...second, '--key', file('first.pem'))).toMatchObject({ endorsed_by: ['First'] })
    expect(
      await refusal('reviewers', 'add', 'Stranger', '--public-key', file('second.pub'), '--key', file('first.pem')),
    ).toContain('this key belongs to a reviewer already')
    expect(await listReviewers(harness.owner, 10)).toHaveLength(2)
  })

  test('a policy changes only with the signatures that the one in force requires', async () => {
    const policy = ['knowledge-bases', 'policy', 'rules'] as const
    expect(await harness.cli.json(...policy)).toEqual({
      knowledge_base: 'rules',
      seq: 0,
      reviewers: 1,
      rollback_reviewers: 0,
      withdrawal_reviewers: 1,
      exclude_build_starter: false,
      limits: {},
    })
    const raise = [...policy, '--limit', 'passages_changed=1000'] as const
    expect(await refusal(...raise)).toContain('asks for 1 different reviewers, and 0 signed: add --key for each')
    expect(await refusal(...raise, '--key', file('stranger.pem'))).toContain('The key belongs to no reviewer')
    expect(await refusal(...policy, '--reviewers', '3', '--key', file('first.pem'))).toContain(
      'so 3 could never approve',
    )
    expect(await harness.cli.json(...policy, '--reviewers', '2', '--key', file('first.pem'))).toMatchObject({
      seq: 1,
      reviewers: 2,
    })
    expect(await refusal(...raise, '--key', file('first.pem'), '--key', file('first.pem'))).toContain('and 1 signed')
    expect(
      await harness.cli.json(...raise, '--reviewers', '1', '--key', file('first.pem'), '--key', file('second.pem')),
    ).toMatchObject({ seq: 2, reviewers: 1, limits: { passages_changed: 1_000 } })
    const { rows } = await harness.owner.query(
      "select detail -> 'reviewers' as reviewers from audit where action = 'knowledge-base.policy' order by seq",
    )
    expect(rows).toEqual([{ reviewers: ['First'] }, { reviewers: ['First', 'Second'] }])
  })

  test('a reviewer is added with the keys that the strictest policy asks for, under a name of their own', async () => {
    const policy = ['knowledge-bases', 'policy', 'rules', '--reviewers'] as const
    const [first, second] = [
      ['--key', file('first.pem')],
      ['--key', file('second.pem')],
    ] as const
    await harness.cli.json(...policy, '2', ...first)
    const add = (name: string): readonly string[] => ['reviewers', 'add', name, '--public-key', file('stranger.pub')]
    expect(await refusal(...add('Third'), ...first)).toBe(
      'The strictest review policy in force asks for 2 different reviewers, and 1 endorse: add --key for each.',
    )
    expect(await refusal(...add('Third'), ...first, ...first)).toContain('and 1 endorse')
    expect(await refusal(...add('se\u200Bcond'), ...first, ...second)).toContain('belongs to a reviewer already')
    expect(await refusal(...add('.'), ...first, ...second)).toContain('has letters or figures')
    expect(await refusal('reviewers', 'retire', 'SECOND')).toContain('and 1 would be left: lower it, or add another')
    await harness.cli.json(...policy, '1', ...first, ...second)
    expect(await listReviewers(harness.owner, 10)).toHaveLength(2)
  })

  test('a review that was signed elsewhere counts, and no other bytes or key do', async () => {
    const version = await candidate(harness, 'elsewhere.md')
    const [statement, signature] = [file('review.json'), file('review.sig')]
    const decided = ['--verdict', 'approved', '--note', 'read on paper'] as const
    await harness.cli.json('review', 'statement', version, '--reviewer', 'First', ...decided, '--out', statement)
    const sign = (key: string, path: string): void =>
      void execFileSync(OPENSSL, ['pkeyutl', '-sign', '-rawin', '-inkey', file(key), '-in', path, '-out', signature])
    const record = (path: string): readonly string[] => [
      'review',
      'sign',
      '--statement',
      path,
      '--signature',
      signature,
      '--reviewer',
      'First',
    ]
    const wrong = 'The signature is not of this statement by "First": sign the exact bytes of the file with that key.'
    sign('second.pem', statement)
    expect(await refusal(...record(statement))).toBe(wrong)
    sign('first.pem', statement)
    const altered = file('altered.json')
    writeFileSync(altered, readFileSync(statement, 'utf8').replace('read on paper', 'read on pager'))
    expect(await refusal(...record(altered))).toBe(wrong)
    expect(await harness.cli.json(...record(statement))).toMatchObject({ verdict: 'approved', reviewer: 'First' })
    expect((await planActivation(harness.operator, version)).approved.reviewers).toMatchObject([{ name: 'First' }])
  })

  test('a file of the report that was altered after the build is shown so, and not approved', async () => {
    const version = await candidate(harness, 'altered.md')
    const report = harness.store.reportFile(version)
    const sign = [
      'review',
      'sign',
      version,
      '--key',
      file('first.pem'),
      '--verdict',
      'approved',
      '--note',
      'read',
    ] as const
    appendFileSync(report, '<p>Nothing was lost.</p>')
    const shown = z
      .object({ files: z.array(z.object({ file: z.string(), state: z.string() })) })
      .parse(await harness.cli.json('review', 'show', version))
    expect(shown.files).toMatchObject([
      { file: 'report', state: 'altered' },
      { file: 'figures', state: 'as recorded' },
      { file: 'changes', state: 'not recorded' },
    ])
    expect(await refusal(...sign)).toContain('The report file of the version is altered')
    writeFileSync(report, '')
    expect(await harness.cli.json(...sign)).toMatchObject({ verdict: 'approved' })
  })

  test('a rejection that nobody signed does not keep a version from its approval, and is named', async () => {
    const version = await candidate(harness, 'forged.md')
    const [row] = await listReviewers(harness.owner, 1)
    if (row === undefined) throw new Error('there is no reviewer')
    const reviewer = { id: row.id, name: row.name, key: createTestKey() }
    await insertSignedReview(harness.operator.database, version, { verdict: 'rejected', reviewer })
    expect(await harness.cli.json('review', 'show', version)).toMatchObject({ reviews: [{ forged: true }] })
    const key = await readSigningKey(file('first.pem'))
    const input = { version, verdict: 'approved', note: 'read', accept: [] } as const
    expect((await signReview(harness.operator, harness.store, key, input)).ignored).toHaveLength(1)
    expect((await planActivation(harness.operator, version)).approved.reviewers).toMatchObject([{ name: 'First' }])
  })

  test('where who started the build is excluded, the approval under that name or login does not count', async () => {
    const policy = ['knowledge-bases', 'policy', 'rules', '--exclude-build-starter'] as const
    await harness.cli.json(...policy, 'yes', '--key', file('first.pem'))
    const [session] = (await harness.operator.database.query<{ login: string }>('select session_user as login')).rows
    await Promise.all(['named', 'loggedin'].map(keygen))
    const add = (name: string, key: string, ...further: readonly string[]): Promise<unknown> =>
      harness.cli.json(
        'reviewers',
        'add',
        name,
        '--public-key',
        file(`${key}.pub`),
        '--key',
        file('first.pem'),
        ...further,
      )
    await add('Tester', 'named')
    await add('Somebody', 'loggedin', '--login', session?.login ?? '')
    const version = await candidate(harness, 'own.md')
    const approve = async (key: string): Promise<unknown> =>
      signReview(harness.operator, harness.store, await readSigningKey(file(`${key}.pem`)), {
        version,
        verdict: 'approved',
        note: 'read',
        accept: [],
      })
    for (const key of ['named', 'loggedin']) {
      await approve(key)
      await expect(planActivation(harness.operator, version)).rejects.toThrow(
        'The approval of who started the build does not count in "rules"',
      )
    }
    await approve('first')
    expect((await planActivation(harness.operator, version)).approved.reviewers).toMatchObject([{ name: 'First' }])
    await harness.cli.json(...policy, 'no', '--key', file('first.pem'))
  })

  test('the approval of a retired reviewer does not count, and the last one is not retired', async () => {
    const version = await candidate(harness, 'retired.md')
    const key = await readSigningKey(file('second.pem'))
    const input = { version, verdict: 'approved', note: 'read', accept: [] } as const
    await signReview(harness.operator, harness.store, key, input)
    await planActivation(harness.operator, version)
    for (const name of ['Second', 'Tester', 'Somebody']) await harness.cli.json('reviewers', 'retire', name)
    await expect(planActivation(harness.operator, version)).rejects.toThrow('No active reviewer approves')
    await expect(signReview(harness.operator, harness.store, key, input)).rejects.toThrow('"Second" is retired')
    expect(await refusal('reviewers', 'retire', 'First')).toContain('"First" is the last active reviewer')
    expect(
      await refusal('reviewers', 'add', 'Second', '--public-key', file('stranger.pub'), '--key', file('first.pem')),
    ).toContain('belongs to a reviewer already, who may be retired')
  })

  test('a row that nobody endorsed never stands for the last active reviewer', async () => {
    const [first] = (await listReviewers(harness.owner, 10)).filter(({ name }) => name === 'First')
    if (first === undefined) throw new Error('there is no first reviewer')
    const forger = { id: first.id, name: first.name, key: createTestKey() }
    const puppet = await insertTestReviewer(harness.operator.database, 'Puppet', undefined, forger)
    expect(await refusal('reviewers', 'retire', 'First')).toContain(
      '"First" is the last active reviewer whose endorsement holds, without whom nothing can be approved: add another',
    )
    await retireReviewer(harness.operator.database, first.id)
    const add = ['reviewers', 'add', 'Stranger', '--public-key', file('stranger.pub')] as const
    const owner = 'No reviewer whose endorsement holds is active: the owner of the schema adds one'
    expect(await refusal(...add)).toContain(owner)
    expect(await refusal(...add, '--key', file('first.pem'))).toContain(owner)
    expect((await listReviewers(harness.owner, 10)).filter((row) => row.retired_at === null)).toMatchObject([
      { id: puppet.id },
    ])
    const asOwner = commandLine({ DATABASE_URL: harness.urls.migrationUrl })
    expect(await asOwner.json(...add)).toMatchObject({ name: 'Stranger', endorsed_by: [] })
    expect(await harness.cli.json('reviewers', 'list')).toContainEqual(
      expect.objectContaining({ name: 'Stranger', verified: true, retired_at: null }),
    )
  })
})
