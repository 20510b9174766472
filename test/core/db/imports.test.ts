import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { sha256 } from '#core/platform/digest.ts'
import { insertImport, insertSnapshots, readImport, type SourceSnapshot } from '#core/db/imports.ts'
import { openTestPools } from '#test/support/postgres.ts'
import { until } from '#test/support/until.ts'

const { owner } = await openTestPools()
const knowledgeBaseId = randomUUID()
await owner.query("insert into knowledge_bases (id, slug, title) values ($1, 'rules', 'Rules')", [knowledgeBaseId])

function snapshot(name: string): SourceSnapshot {
  const sha = sha256(name).toString('hex')
  return { id: randomUUID(), sourceName: name, mediaType: 'text/markdown', sha256: sha, bytes: name.length }
}

test('a snapshot that another transaction inserts meanwhile is found once that one commits', async () => {
  const [first, second] = [await owner.connect(), await owner.connect()]
  using ending = new DisposableStack()
  ending.defer(() => second.release())
  ending.defer(() => first.release())
  await first.query('begin')
  await second.query('begin')
  const ids = await insertSnapshots(first, knowledgeBaseId, [snapshot('a.md'), snapshot('b.md')])
  const { rows } = await second.query<{ pid: number }>('select pg_backend_pid() as pid')
  const waiting = insertSnapshots(second, knowledgeBaseId, [snapshot('b.md'), snapshot('a.md')])
  await until('the second waits for the first', async () => {
    const waits = await owner.query('select 1 from pg_locks where pid = $1 and not granted', [rows[0]?.pid])
    return waits.rowCount === 1
  })
  await first.query('commit')
  expect(await waiting).toEqual(ids.toReversed())
  await second.query('commit')
})

test('an import of more snapshots than one statement takes is read back whole and in order', async () => {
  const snapshots = Array.from({ length: DATABASE_BOUNDS.insertRowsMax * 2 + 3 }, (_, n) =>
    snapshot(`${(n * 7_919) % 2_003}-${n}.md`),
  )
  const snapshotIds = await insertSnapshots(owner, knowledgeBaseId, snapshots)
  expect(snapshotIds).toEqual(snapshots.map(({ id }) => id))
  const id = randomUUID()
  await insertImport(owner, { id, knowledgeBaseId, mapping: {}, snapshotIds, report: {} })
  expect((await readImport(owner, id)).snapshots).toMatchObject(snapshots)
})
