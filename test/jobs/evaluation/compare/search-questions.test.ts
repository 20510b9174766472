import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { ComparedContents } from '#jobs/evaluation/compare/compared-passages.ts'
import { compareContents } from '#jobs/evaluation/compare/contents.ts'
import { openChangesRecorder } from '#jobs/evaluation/compare/recorder.ts'
import { tableChanges } from '#jobs/evaluation/compare/tables.ts'
import { buildTestArtifact } from '#test/support/artifact.ts'
import { changesNamed } from '#test/support/compared-contents.ts'
import { testRows } from '#test/support/passages.ts'
import { signingKeys } from '#test/support/secrets.ts'

const folder = mkdtempSync(join(tmpdir(), 'compare-search-questions-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const { privateKeyDer } = signingKeys()
const rows = testRows({ rows: 20, dimensions: 8, seed: 1 })
const FACETS = { languages: ['en'], jurisdictions: ['XA'], subjects: ['general'], statuses: ['verified' as const] }
let built = 0

async function versionWith(questions: readonly (readonly [row: number, q: string])[]): Promise<ComparedContents> {
  built += 1
  const queryExpansions = questions.map(([row, q]) => ({ row, q, lang: 'en', id: rows[row]?.record.source_id ?? '' }))
  const { versionId, ...artifact } = await buildTestArtifact({
    store: folder,
    rows,
    privateKeyDer,
    queryExpansions,
    name: `version ${built}`,
  })
  return { versionId, folder: artifact.folder, manifest: artifact.manifest, facets: FACETS }
}

/** The named changes of contents and tables. */
async function compared(before: ComparedContents, after: ComparedContents): Promise<readonly object[]> {
  const path = join(folder, 'version.changes.jsonl')
  const recorder = await openChangesRecorder(path)
  try {
    const inputs = await compareContents({
      before,
      after,
      sortFile: join(folder, 'comparison.sqlite'),
      recorder,
      signal: new AbortController().signal,
      onProgress: () => undefined,
    })
    const tables = tableChanges({ ...before, inputs: inputs.before }, { ...after, inputs: inputs.after })
    for (const change of tables) await recorder.record(change)
    const { changes } = await recorder.finish()
    const named = changesNamed(path)
    expect(changes.counts.search_questions_changed).toBe(named.length)
    return named
  } finally {
    await recorder.abandon()
  }
}

test('two versions differ by each search question that only one of them holds', async () => {
  const before = await versionWith([
    [3, 'May I keep bees?'],
    [3, 'How many hives?'],
  ])
  const after = await versionWith([
    [3, 'How many hives?'],
    [5, 'Who inspects hives?'],
  ])
  const change = { kind: 'search_questions_changed', language: 'en' }
  expect(await compared(before, after)).toEqual([
    { ...change, passage: 'doc-0#r3', before: 'May I keep bees?', after: null },
    { ...change, passage: 'doc-0#r5', before: null, after: 'Who inspects hives?' },
  ])
  expect(await compared(before, await versionWith([]))).toHaveLength(2)
  expect(await compared(await versionWith([]), after)).toHaveLength(2)
})

test('versions with the same search questions do not differ', async () => {
  const questions = [[3, 'May I keep bees?']] as const
  expect(await compared(await versionWith(questions), await versionWith(questions))).toEqual([])
})

test('a table of search questions that differs although the questions are equal fails the comparison', async () => {
  const questions = [[3, 'May I keep bees?']] as const
  const [before, after] = [await versionWith(questions), await versionWith(questions)]
  const { manifest } = after
  const files = { ...manifest.files, 'search-questions.postings': { bytes: 1, sha256: 'b'.repeat(64) } }
  await expect(compared(before, { ...after, manifest: { ...manifest, files } })).rejects.toThrow(
    /differs from the active version in search-questions.postings/,
  )
})

test('search questions that were altered after their verification fail the comparison', async () => {
  const [before, after] = [await versionWith([]), await versionWith([[3, 'May I keep bees?']])]
  appendFileSync(join(after.folder, 'search-questions.jsonl'), '{"id":"doc-0#r4","lang":"en","q":"Bees?"}\n')
  await expect(compared(before, after)).rejects.toThrow(/of the candidate was/)
})
