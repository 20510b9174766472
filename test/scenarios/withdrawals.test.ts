import { rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { readVersion } from '#core/db/versions.ts'
import { withoutGuards } from '#test/support/postgres.ts'
import { withdrawalsInForce } from '#core/db/withdrawals.ts'
import { passagesIn } from '#core/index/passages/records.ts'
import { join } from 'node:path'
import { openCandidateHarness, type CandidateHarness } from './candidate-harness.ts'

const LABEL = 'COB-F 2.1'
const buildSchema = z.object({ parameters: z.object({ withdrawals: z.unknown() }) })

let harness: CandidateHarness
beforeAll(async () => {
  harness = await openCandidateHarness()
  await harness.keygen('first')
  await harness.jsonWithId('reviewers', 'add', 'First', '--public-key', harness.file('first.pub'))
  const active = await harness.build()
  await harness.cli.json(...signing(active))
  expect(await harness.activated(active)).toBe('done')
})
afterAll(() => harness?.close())

const key = (): readonly string[] => ['--key', harness.file('first.pem')]
const signing = (version: string, ...further: readonly string[]): readonly string[] => [
  'review',
  'sign',
  version,
  ...key(),
  '--verdict',
  'approved',
  '--note',
  'read',
  ...further,
]

async function labelsOf(version: string): Promise<readonly string[]> {
  const labels: string[] = []
  for await (const { citation } of passagesIn(join(harness.store.artifactFolder(version), 'passages.jsonl')))
    labels.push(citation.label)
  return labels
}

test('the next version decides about a withdrawal: its build and its approval are refused until it does', async () => {
  const before = await harness.build(['The finding must be renewed', 'The finding is renewed'])
  const { rows } = await harness.owner.query<{ import_id: string }>('select import_id from builds order by created_at')
  const start = ['build', 'start', '--import', rows[0]?.import_id ?? '', '--embedding', 'none']

  const base = ['--knowledge-base', harness.base.slug]
  const { id } = await harness.jsonWithId('withdraw', LABEL, ...base, '--reason', 'the publisher corrects it', ...key())
  const open = `1 withdrawal is in force and undecided (${id} "${LABEL}, Conduct of Business Rulebook (Free Harbour)")`
  expect(await harness.refusal(...start)).toContain(open)
  expect(await harness.refusal(...signing(before))).toContain(open)
  expect(await harness.refusal(...start, '--drop-withdrawn', harness.base.id)).toContain('is in force here')
  expect(await harness.refusal(...start, '--drop-withdrawn', id, '--restore-withdrawn', id)).toContain(open)
  for (const flag of ['--drop-withdrawn', '--restore-withdrawn'])
    expect(buildSchema.parse(await harness.cli.json(...start, flag, 'all')).parameters.withdrawals).toMatchObject(
      flag === '--drop-withdrawn' ? { drop: [{ id }], restore: [] } : { drop: [], restore: [id] },
    )

  const drop = await withdrawalsInForce(harness.owner, harness.base.id)
  const dropped = await harness.build(undefined, { withdrawals: { drop, restore: [] } })
  const restored = await harness.build(undefined, { withdrawals: { drop: [], restore: [id] } })
  expect(await labelsOf(dropped)).not.toContain(LABEL)
  expect(await labelsOf(restored)).toContain(LABEL)
  for (const [version, serves] of [
    [dropped, []],
    [restored, [id]],
  ] as const)
    expect(await readVersion(harness.owner, version)).toMatchObject({
      withdrawals_decided: [id],
      withdrawals_restored: serves,
    })
  await harness.cli.json(...signing(restored))
  expect(await harness.refusal(...signing(dropped))).toContain('passages_removed')
  expect(await harness.activated(restored)).toBe('done')
})

test('a build that a withdrawal overtakes fails, and says what to do', async () => {
  const { rows } = await harness.owner.query<{ id: string }>('select import_id as id from builds limit 1')
  const buildId = await harness.requestBuild(harness.base.id, rows[0]?.id ?? '')
  expect(await harness.runBuild(buildId)).toMatchObject({
    outcome: 'failed',
    kind: 'permanent',
    message: expect.stringContaining('--drop-withdrawn'),
  })
})

const TITLE = 'Conduct of Business Rulebook (Free Harbour)'

/** Builds with what is withdrawn left out, and approves whatever differs. */
async function approved(change: readonly [string, string]): Promise<string> {
  const drop = await withdrawalsInForce(harness.owner, harness.base.id)
  const version = await harness.build(change, { withdrawals: { drop, restore: [] } })
  const { code, stderr } = await harness.cli.run(...signing(version))
  if (code !== 0) await harness.cli.json(...signing(version, '--accept', /--accept ([\w,]+)/.exec(stderr)?.[1] ?? ''))
  return version
}

async function withdraw(what: string, ...further: readonly string[]) {
  const asked = ['--knowledge-base', harness.base.slug, '--reason', 'wrong', ...key(), ...further]
  return await harness.jsonWithId('withdraw', what, ...asked)
}

async function passagesOf(version: string, label: string): Promise<readonly string[]> {
  const held: string[] = []
  for await (const { citation, chunk_id } of passagesIn(join(harness.store.artifactFolder(version), 'passages.jsonl')))
    if (citation.label.startsWith(label)) held.push(chunk_id)
  return held
}

test('withdrawn law under another id is found by label, address and text, and refuses until it is decided', async () => {
  const ended = await withdrawalsInForce(harness.owner, harness.base.id)
  for (const { id } of ended) await harness.cli.json('withdrawals', 'restore', id, '--reason', 'checked', ...key())
  const first = await approved(['', ''])
  expect(await harness.activated(first)).toBe('done')
  const { id } = await withdraw(LABEL)
  const whole = await withdraw(TITLE)
  // Another document id: every other id follows it.
  const renamed = await approved(['document: hsfa-conduct-harbour', 'document: another'])
  const [chunk = ''] = await passagesOf(renamed, LABEL)
  const found = `${id} "${LABEL}, ${TITLE}" has the text, label, address of ${chunk} "${LABEL}`
  const refused = await harness.activated(renamed)
  expect(refused).toContain(found)
  expect(refused).toContain(`${whole.id} "${TITLE}" has the text, title, url of ${chunk}`)
  const page = await readFile(harness.store.reportFile(renamed), 'utf8')
  expect(page).toMatch(new RegExp(`Withdrawn law under another id[^]*${chunk}`))
  await withdraw(TITLE, '--version', renamed, '--other-law')
  expect(await harness.activated(renamed)).toBe('done')
  await harness.cli.json('withdrawals', 'restore', whole.id, '--reason', 'checked', ...key())
  const audited = await harness.owner.query("select 1 from audit where action = 'withdrawal.other_law'")
  expect(audited.rows).toHaveLength(1)

  // Another label, anchor, title and address: the text is left. What is withdrawn as well is served by no version.
  const heading = `### ${LABEL} Leverage ceiling and loss warning {#cob-f-2-1}`
  const retold = await approved([heading, '### COB-F 9.9 Leverage {#x}'])
  expect(await harness.activated(retold)).toMatch(new RegExp(`${id} .* has the text of chk_\\w+ "COB-F 9.9`))
  await withdraw('COB-F 9.9', '--version', retold)
  expect(await harness.activated(retold)).toBe('done')

  // A corrected word under the old label, as a withdrawal of an earlier release knows it: by ids.
  const [held = ''] = await passagesOf(retold, 'COB-F 2.2')
  const passage = await withdraw(held)
  expect(await harness.activated(renamed, 'rollback')).toContain(`${passage.id} "COB-F 2.2`)
  await withoutGuards(harness.owner, 'delete from withdrawn_law', [])
  const corrected = await approved(['are drawn up in English', 'are written in English'])
  expect(await harness.activated(corrected)).toContain(`${passage.id} "COB-F 2.2, ${TITLE}" has the label, address of`)
  await withoutGuards(harness.owner, 'delete from withdrawn_law', [])
  rmSync(harness.store.artifactFolder(retold), { recursive: true })
  expect(await harness.activated(corrected)).toBe('done')
  const { rows: messages } = await harness.owner.query<{ message: string }>(
    "select message from activations where state = 'done' order by finished_at desc limit 1",
  )
  expect(messages[0]?.message).toMatch(new RegExp(`Known by ids alone, since no version .* ${passage.id} "COB-F 2.2`))
})
