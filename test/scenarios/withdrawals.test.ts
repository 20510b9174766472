import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { readVersion } from '#core/db/versions.ts'
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
  const open = `1 withdrawal is in force and undecided (${id})`
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
