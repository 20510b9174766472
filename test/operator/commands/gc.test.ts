import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { writeDurably } from '#core/platform/durable-file.ts'
import { sha256 } from '#core/platform/digest.ts'
import { openCorpusHarness } from '#test/support/operator-corpus.ts'
import { withoutGuards } from '#test/support/postgres.ts'
import { createHistoryBase, insertVersion } from '#test/support/version-rows.ts'

const harness = await openCorpusHarness()

const goneSchema = z.object({
  versions: z.array(z.object({ id: z.uuid() })),
  snapshots: z.array(z.object({ sha256: z.string() })),
  bytes: z.number(),
  removed: z.boolean(),
})

async function gc(...args: readonly string[]): Promise<z.infer<typeof goneSchema>> {
  return goneSchema.parse(await harness.cli.json('gc', ...args))
}

/** Moves every time of a version, its build, its import and its source into the past. */
async function age(version: string, days: number): Promise<void> {
  const ago = `now() - make_interval(days => ${days})`
  for (const statement of [
    `update corpus_versions set created_at = ${ago} where id = $1`,
    `update reviews set created_at = ${ago} where version_id = $1`,
    `update activations set finished_at = ${ago} where version_id = $1 or expected_version_id = $1`,
    `update builds set state = 'succeeded', created_at = ${ago}, updated_at = ${ago} where id = (select build_id from corpus_versions where id = $1)`,
    `update imports set created_at = ${ago} where id = (select b.import_id from builds b
      join corpus_versions v on v.build_id = b.id where v.id = $1)`,
    `update source_snapshots set captured_at = ${ago} where id = any (select unnest(i.snapshot_ids) from imports i
      join builds b on b.import_id = i.id join corpus_versions v on v.build_id = b.id where v.id = $1)`,
  ])
    await withoutGuards(harness.owner, statement, [version])
}

type Kept = Awaited<ReturnType<typeof versionOf>>

/** A version of a given state with a report and a source of its own, all of a given age in days. */
async function versionOf(slug: string, state: string, days: number) {
  const { version } = await insertVersion(harness.owner, { slug, state, passages: 1 })
  const source = randomUUID()
  const digest = sha256(source).toString('hex')
  await withoutGuards(
    harness.owner,
    `update source_snapshots set sha256 = decode($2, 'hex') where id = any (select unnest(i.snapshot_ids) from imports i
      join builds b on b.import_id = i.id join corpus_versions v on v.build_id = b.id where v.id = $1)`,
    [version, digest],
  )
  /** The report, and the captured source. */
  const files = [harness.store.reportFile(version), harness.store.snapshotFile(digest)]
  for (const file of files) await writeDurably(file, source)
  await age(version, days)
  return { version, sha256: digest, files }
}

const exist = ({ files }: Kept): readonly boolean[] => files.map((file) => existsSync(file))

test('what is old and needed by nothing goes: a dry run names it, and the audit trail keeps it', async () => {
  const { slug } = await createHistoryBase(harness.owner)
  const old = await Promise.all(['retired', 'rejected', 'candidate'].map((state) => versionOf(slug, state, 40)))
  const young = await versionOf(slug, 'rejected', 10)
  const planned = await gc('--dry-run')
  expect(planned.versions.map(({ id }) => id).sort()).toEqual(old.map(({ version }) => version).sort())
  expect(planned.snapshots.map((one) => one.sha256).sort()).toEqual(old.map((one) => one.sha256).sort())
  expect(planned.removed).toBe(false)
  for (const each of old) expect(exist(each)).toEqual([true, true])
  expect((await gc('--dry-run', '--version-days', '60')).versions).toEqual([])

  expect(await gc()).toEqual({ ...planned, removed: true })
  for (const each of old) expect(exist(each)).toEqual([false, false])
  expect(exist(young)).toEqual([true, true])
  expect(await gc('--dry-run')).toEqual({ versions: [], snapshots: [], bytes: 0, removed: false })
  const { rows } = await harness.owner.query("select detail from audit where action = 'store.gc'")
  expect(rows).toMatchObject([{ detail: { snapshots: 3, bytes: planned.bytes } }])
})

test('what is active, on the way back, approved, entitled, traced, or in the ledger stays, and its sources with it', async () => {
  const base = await createHistoryBase(harness.owner)
  const [before, active, approved, entitled, served, traced] = await Promise.all(
    ['retired', 'retired', 'candidate', 'retired', 'retired', 'retired'].map((state) =>
      versionOf(base.slug, state, 90),
    ),
  )
  const kept = [before, active, approved, entitled, served].filter((one) => one !== undefined)
  const [first, second, candidate, named, answering] = kept.map(({ version }) => version)
  if (traced === undefined) throw new Error('there are six versions')
  await base.activate(first ?? '')
  await base.activate(second ?? '')
  await base.review(candidate ?? '', 'approved')
  await withoutGuards(
    harness.owner,
    'insert into entitlements (id, client_id, environment, knowledge_base_id, plan_id, languages, jurisdictions, profile_ids) ' +
      "select $1, $1, 'live', $2, $1, '{en}', '{EU}', array[profile_id] from corpus_versions where id = $3",
    [randomUUID(), base.id, named],
  )
  await withoutGuards(
    harness.owner,
    'insert into ledger (reservation_id, organization_id, client_id, environment, api_key_id, entitlement_id, plan_id, ' +
      'knowledge_base_id, version_id, trace_id, fingerprint, fingerprint_epoch, admitted_at, finished_at, state, charged, ' +
      "outcome) select $1, $1, $1, 'live', $1, $1, $1, $2, $3, $1, '', 1, now() - interval '300 days', now(), " +
      "'delivered', true, '{}'",
    [randomUUID(), base.id, answering],
  )
  for (const { version } of kept) await age(version, 90)
  expect((await gc('--dry-run')).versions).toMatchObject([{ id: traced.version }])
  expect((await gc('--dry-run', '--ledger-days', '200')).versions).toHaveLength(2)

  await harness.owner.query('update knowledge_bases set traced = true where id = $1', [base.id])
  await withoutGuards(
    harness.owner,
    'insert into activations (id, knowledge_base_id, version_id, kind, actor, state, sequence, finished_at) ' +
      "values ($1, $2, $3, 'activate', 'a', 'done', 0, now() - interval '90 days')",
    [randomUUID(), base.id, traced.version],
  )
  expect((await gc()).versions).toEqual([])
  for (const each of [...kept, traced]) expect(exist(each)).toEqual([true, true])
})
