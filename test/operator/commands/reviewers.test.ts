import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { parsePublicKey } from '#core/credentials/reviewer-keys.ts'
import { listReviewers, retireReviewer } from '#core/db/reviewers.ts'
import { planActivation } from '#operator/actions/activations.ts'
import { readSigningKey } from '#operator/actions/reviewers.ts'
import { signReview } from '#operator/actions/reviews.ts'
import { commandLine } from '#test/support/operator-cli.ts'
import { candidate, openCorpusHarness } from '#test/support/operator-corpus.ts'
import { createTestKey, insertSignedReview, insertTestReviewer } from '#test/support/reviews.ts'

const POLICY = 'knowledge-bases policy rules'
/** Signs outside of the command line, as a reviewer with a key of their own does. */
const OPENSSL = 'openssl'
const SIGNER = fileURLToPath(new URL('../../../jobs/review/sign-review.mjs', import.meta.url))
const harness = await openCorpusHarness()
const { cli, operator, owner } = harness

/** A file of the test. */
const file = (name: string): string => join(harness.folder, name)

async function keygen(name: string): Promise<void> {
  const { stdout } = await cli.run('reviewers keygen --out', file(`${name}.pem`))
  writeFileSync(file(`${name}.pub`), stdout)
}

/** The words that add a reviewer with the public key of that name. */
const add = (name: string, key: string): string => `reviewers add "${name}" --public-key ${file(`${key}.pub`)}`
const signed = (...keys: readonly string[]): string => keys.map((key) => `--key ${file(`${key}.pem`)}`).join(' ')

/** Approves with the private key of that name. */
async function approve(version: string, key: string) {
  const input = { version, verdict: 'approved', note: 'read', accept: [] } as const
  return await signReview(operator, harness.store, await readSigningKey(file(`${key}.pem`)), input)
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
    expect(await cli.refused('reviewers keygen --out', file('first.pem'))).toContain(
      'exists already and is not overwritten',
    )
    expect(readFileSync(file('first.pem'), 'utf8')).toBe(before)
  })

  test('the first is added without an endorsement, which the trail says, and every other one needs one', async () => {
    expect(await cli.refused('reviewers add First --public-key', file('first.pem'))).toContain(
      'is not an Ed25519 public key',
    )
    const added = z
      .object({ id: z.uuid(), endorsed_by: z.array(z.never()) })
      .parse(await cli.json(add('First', 'first')))
    const { rows } = await owner.query("select subject, detail from audit where action = 'reviewer.add'")
    const detail = { name: 'First', login: null, endorsed_by: [], without_endorsement: true }
    expect(rows).toEqual([{ subject: `reviewer:${added.id}`, detail }])
    const second = add('Second', 'second')
    expect(await cli.refused(second)).toBe(
      'An active reviewer endorses every reviewer but the first: add --key with a private key.\n',
    )
    expect(await cli.refused(`${second} ${signed('stranger')}`)).toContain('The key belongs to no reviewer')
    expect(await cli.json(`${second} ${signed('first')}`)).toMatchObject({ endorsed_by: ['First'] })
    expect(await cli.refused(`${add('Stranger', 'second')} ${signed('first')}`)).toContain(
      'this key belongs to a reviewer already',
    )
    expect(await listReviewers(owner, 10)).toHaveLength(2)
  })

  test('a policy changes only with the signatures that the one in force requires', async () => {
    expect(await cli.json(POLICY)).toEqual({
      knowledge_base: 'rules',
      seq: 0,
      reviewers: 1,
      rollback_reviewers: 0,
      withdrawal_reviewers: 1,
      exclude_build_starter: false,
      limits: {},
    })
    const raise = `${POLICY} --limit passages_changed=1000`
    expect(await cli.refused(raise)).toContain('asks for 1 different reviewers, and 0 signed: add --key for each')
    expect(await cli.refused(`${raise} ${signed('stranger')}`)).toContain('The key belongs to no reviewer')
    expect(await cli.refused(`${POLICY} --reviewers 3 ${signed('first')}`)).toContain('so 3 could never approve')
    const two = await cli.json(`${POLICY} --reviewers 2 ${signed('first')}`)
    expect(two).toMatchObject({ seq: 1, reviewers: 2 })
    expect(await cli.refused(`${raise} ${signed('first', 'first')}`)).toContain('and 1 signed')
    const raised = await cli.json(`${raise} --reviewers 1 ${signed('first', 'second')}`)
    expect(raised).toMatchObject({ seq: 2, reviewers: 1, limits: { passages_changed: 1_000 } })
    const { rows } = await owner.query(
      "select detail -> 'reviewers' as reviewers from audit where action = 'knowledge-base.policy' order by seq",
    )
    expect(rows).toEqual([{ reviewers: ['First'] }, { reviewers: ['First', 'Second'] }])
  })

  test('a reviewer is added with the keys that the strictest policy asks for, under a name of their own', async () => {
    await cli.json(`${POLICY} --reviewers 2 ${signed('first')}`)
    const third = add('Third', 'stranger')
    expect(await cli.refused(`${third} ${signed('first')}`)).toBe(
      'The strictest review policy in force asks for 2 different reviewers, and 1 endorse: add --key for each.\n',
    )
    expect(await cli.refused(`${third} ${signed('first', 'first')}`)).toContain('and 1 endorse')
    const both = signed('first', 'second')
    expect(await cli.refused(`${add('\u0455econd', 'stranger')} ${both}`)).toContain('belongs to a reviewer already')
    expect(await cli.refused(`${add('.', 'stranger')} ${both}`)).toContain('has letters or figures')
    expect(await cli.refused('reviewers retire SECOND')).toContain('and 1 would be left: lower it, or add another')
    await cli.json(`${POLICY} --reviewers 1 ${both}`)
    expect(await listReviewers(owner, 10)).toHaveLength(2)
  })

  test('a review that was signed elsewhere counts, and no other bytes or key do', async () => {
    const version = await candidate(harness, 'elsewhere.md')
    const [statement, signature] = [file('review.json'), file('review.sig')]
    const decided = '--reviewer First --verdict approved --note "read on paper"'
    await cli.json(`review statement ${version} ${decided} --out ${statement}`)
    const sign = (key: string, path: string): void =>
      void execFileSync(OPENSSL, ['pkeyutl', '-sign', '-rawin', '-inkey', file(key), '-in', path, '-out', signature])
    const record = (path: string): string => `review sign --statement ${path} --signature ${signature} --reviewer First`
    const wrong = 'The signature is not of this statement by "First": sign the exact bytes of the file with that key.\n'
    sign('second.pem', statement)
    expect(await cli.refused(record(statement))).toBe(wrong)
    sign('first.pem', statement)
    const altered = file('altered.json')
    writeFileSync(altered, readFileSync(statement, 'utf8').replace('read on paper', 'read on pager'))
    expect(await cli.refused(record(altered))).toBe(wrong)
    expect(await cli.json(record(statement))).toMatchObject({ verdict: 'approved', reviewer: 'First' })
    expect((await planActivation(operator, version)).approved.reviewers).toMatchObject([{ name: 'First' }])
  })

  test('a reviewer signs with one file, which shows what it signs and refuses other files', async () => {
    const version = await candidate(harness, 'one-file.md')
    const statement = file('one-file.json')
    const report = harness.store.reportFile(version)
    await cli.json(
      `review statement ${version} --reviewer First --verdict approved --note "read \u202Eit" --out ${statement}`,
    )
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [SIGNER, ...args], { encoding: 'utf8', env: {}, input: '' })
    const refusal = (...args: string[]): string => {
      const { status, stderr } = run(...args)
      expect(status).toBe(1)
      return stderr
    }
    const withKey = ['--statement', statement, '--key', file('first.pem')]
    expect(refusal(...withKey)).toBe('an approval needs the file that was read: give --report\n')
    expect(refusal(...withKey, '--report', statement)).toContain('is not the report that the statement names')
    expect(refusal(...withKey, '--report', report)).toContain('add --yes')
    const more = file('more.json')
    const { note, ...others } = JSON.parse(readFileSync(statement, 'utf8')) as Record<string, unknown>
    writeFileSync(more, JSON.stringify({ ...others, note, also: 1 }))
    expect(refusal('--statement', more)).toContain('holds more than this program shows')
    writeFileSync(more, JSON.stringify({ note, ...others }))
    expect(refusal('--statement', more)).toContain('is not written as')
    const { stdout, status } = run(...withKey, '--report', report, '--yes')
    expect([status, stdout]).toEqual([0, expect.stringContaining('note            "read [U+202e]it"')])
    expect(stdout).toContain(`${report}, as the statement names it`)
    const record = `review sign --statement ${statement} --signature ${statement}.sig --reviewer First`
    expect(await cli.json(record)).toMatchObject({ verdict: 'approved', reviewer: 'First' })
    expect(refusal(...withKey, '--report', report, '--yes')).toContain('it exists already')
    const made = run('--keygen', file('made.pem'))
    expect(parsePublicKey(made.stdout)).toHaveLength(44)
    expect(statSync(file('made.pem')).mode & 0o777).toBe(0o600)
  })

  test('a file of the report that was altered after the build is shown so, and not approved', async () => {
    const version = await candidate(harness, 'altered.md')
    const report = harness.store.reportFile(version)
    const sign = `review sign ${version} ${signed('first')} --verdict approved --note read`
    appendFileSync(report, '<p>Nothing was lost.</p>')
    expect(await cli.json('review show', version)).toMatchObject({
      files: [
        { file: 'report', state: 'altered' },
        { file: 'figures', state: 'as recorded' },
        { file: 'changes', state: 'not recorded' },
      ],
    })
    expect(await cli.refused(sign)).toContain('The report file of the version is altered')
    writeFileSync(report, '')
    expect(await cli.json(sign)).toMatchObject({ verdict: 'approved' })
  })

  test('a rejection that nobody signed does not keep a version from its approval, and is named', async () => {
    const version = await candidate(harness, 'forged.md')
    const [row] = await listReviewers(owner, 1)
    if (row === undefined) throw new Error('there is no reviewer')
    const reviewer = { id: row.id, name: row.name, key: createTestKey() }
    await insertSignedReview(operator.database, version, { verdict: 'rejected', reviewer })
    expect(await cli.json('review show', version)).toMatchObject({ reviews: [{ forged: true }] })
    expect((await approve(version, 'first')).ignored).toHaveLength(1)
    expect((await planActivation(operator, version)).approved.reviewers).toMatchObject([{ name: 'First' }])
  })

  test('where who started the build is excluded, the approval under that name or login does not count', async () => {
    const exclude = (answer: string): Promise<unknown> =>
      cli.json(`${POLICY} --exclude-build-starter ${answer} ${signed('first')}`)
    await exclude('yes')
    const [session] = (await operator.database.query<{ login: string }>('select session_user as login')).rows
    await Promise.all(['named', 'loggedin'].map(keygen))
    await cli.json(`${add('Tester', 'named')} ${signed('first')}`)
    await cli.json(`${add('Somebody', 'loggedin')} ${signed('first')} --login ${session?.login}`)
    const version = await candidate(harness, 'own.md')
    for (const key of ['named', 'loggedin']) {
      await approve(version, key)
      await expect(planActivation(operator, version)).rejects.toThrow(
        'The approval of who started the build does not count in "rules"',
      )
    }
    await approve(version, 'first')
    expect((await planActivation(operator, version)).approved.reviewers).toMatchObject([{ name: 'First' }])
    await exclude('no')
  })

  test('the approval of a retired reviewer does not count, and the last one is not retired', async () => {
    const version = await candidate(harness, 'retired.md')
    await approve(version, 'second')
    await planActivation(operator, version)
    for (const name of ['Second', 'Tester', 'Somebody']) await cli.json('reviewers retire', name)
    await expect(planActivation(operator, version)).rejects.toThrow('No active reviewer approves')
    await expect(approve(version, 'second')).rejects.toThrow('"Second" is retired')
    expect(await cli.refused('reviewers retire First')).toContain('"First" is the last active reviewer')
    expect(await cli.refused(`${add('Second', 'stranger')} ${signed('first')}`)).toContain(
      'belongs to a reviewer already, who may be retired',
    )
  })

  test('a row that nobody endorsed never stands for the last active reviewer', async () => {
    const [first] = (await listReviewers(owner, 10)).filter(({ name }) => name === 'First')
    if (first === undefined) throw new Error('there is no first reviewer')
    const forger = { id: first.id, name: first.name, key: createTestKey() }
    const puppet = await insertTestReviewer(operator.database, 'Puppet', undefined, forger)
    expect(await cli.refused('reviewers retire First')).toContain(
      '"First" is the last active reviewer whose endorsement holds, without whom nothing can be approved: add another',
    )
    await retireReviewer(operator.database, first.id)
    const stranger = add('Stranger', 'stranger')
    const byOwner = 'No reviewer whose endorsement holds is active: the owner of the schema adds one'
    expect(await cli.refused(stranger)).toContain(byOwner)
    expect(await cli.refused(`${stranger} ${signed('first')}`)).toContain(byOwner)
    expect((await listReviewers(owner, 10)).filter((row) => row.retired_at === null)).toMatchObject([{ id: puppet.id }])
    const asOwner = commandLine({ DATABASE_URL: harness.urls.migrationUrl })
    expect(await asOwner.json(stranger)).toMatchObject({ name: 'Stranger', endorsed_by: [] })
    expect(await cli.json('reviewers list')).toContainEqual(
      expect.objectContaining({ name: 'Stranger', verified: true, retired_at: null }),
    )
  })
})
