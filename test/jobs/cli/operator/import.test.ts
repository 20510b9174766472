import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { sha256 } from '#core/platform/digest.ts'
import { createArtifactStore } from '#core/index/format/store.ts'
import { createKnowledgeBase } from '#jobs/cli/operator/actions/organizations.ts'
import { commandLine } from '#test/support/operator/cli.ts'
import { openOperatorHarness } from '#test/support/operator/harness.ts'
import type { OperatorHarness } from '#test/support/operator/harness.ts'

const RULEBOOK = fileURLToPath(new URL('../../../../jobs/cli/demo/corpus/rulebook', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'evidence-operator-'))
const storeUrl = pathToFileURL(join(folder, 'store')).href
const withId = z.object({ id: z.uuid() })

let harness: OperatorHarness

beforeAll(async () => {
  harness = await openOperatorHarness({ ARTIFACT_STORE: storeUrl })
  await createKnowledgeBase(harness.operator, { slug: 'rules', title: 'Rules' })
})
afterAll(async () => {
  await harness.close()
  rmSync(folder, { recursive: true, force: true })
})

test('the demo rulebook is captured byte for byte, reported on, and recorded with its trail', async () => {
  const { code, stdout, stderr } = await harness.cli.run(
    'import',
    '--knowledge-base',
    'rules',
    '--source',
    RULEBOOK,
    '--json',
  )
  expect(code, stderr).toBe(0)
  expect(stderr).toContain('capturing')
  const imported = withId.extend({ report: z.object({ files: z.int(), passages: z.int() }) }).parse(JSON.parse(stdout))
  expect(imported.report.files).toBeGreaterThan(10)
  expect(imported.report.passages).toBeGreaterThan(60)
  const { rows } = await harness.owner.query<{ source_name: string; sha256: Buffer }>(
    'select source_name, sha256 from source_snapshots',
  )
  expect(rows).toHaveLength(imported.report.files)
  for (const { source_name, sha256: digest } of rows) {
    const bytes = await readFile(join(RULEBOOK, source_name))
    expect(sha256(bytes).equals(digest), source_name).toBe(true)
    expect(await readFile(createArtifactStore(storeUrl).snapshotFile(digest.toString('hex')))).toEqual(bytes)
  }
  const shown = await harness.cli.run('imports', 'show', imported.id)
  expect(shown.stdout).toMatch(new RegExp(`${imported.report.passages} {2}passages`))
  expect(
    (
      await harness.owner.query("select 1 from audit where action = 'import.create' and subject = $1", [
        `import:${imported.id}`,
      ])
    ).rowCount,
  ).toBe(1)
})

test('a source of which nothing becomes a passage is refused with the report, and leaves no row', async () => {
  const path = join(folder, 'bare.md')
  writeFileSync(path, '# No front matter\n\nText.\n')
  const before = (await harness.owner.query('select 1 from imports')).rowCount
  const { code, stdout, stderr } = await harness.cli.run('import', '--knowledge-base', 'rules', '--source', path)
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(/Nothing in the source became a passage[\s\S]*bare\.md:1/)
  expect((await harness.owner.query('select 1 from imports')).rowCount).toBe(before)
})

test.each([
  [
    'a source that is neither file nor folder',
    ['--source', '/dev/null'],
    /^\/dev\/null is not a folder, or is inside a file: correct the path given, or ARTIFACT_STORE\.\n$/m,
  ],
  ['a source that is not there', ['--source', '/nowhere/at/all'], /cannot read \/nowhere\/at\/all/],
  [
    'a mapping that is not there',
    ['--source', RULEBOOK, '--mapping', '/nowhere.json'],
    /The mapping file \/nowhere\.json cannot be read: check its path and rights\./,
  ],
  [
    'a mapping that is not JSON',
    ['--source', RULEBOOK, '--mapping', join(RULEBOOK, 'hsfa-data-harbour.2023-05-01.md')],
    /is not JSON: correct it and import again\./,
  ],
])('%s is refused in a sentence', async (_what, args, sentence) => {
  const { code, stderr } = await harness.cli.run('import', '--knowledge-base', 'rules', ...args)
  expect(code).toBe(1)
  expect(stderr).toMatch(sentence)
})

test('an artifact store that lies in no folder is refused with what to correct', async () => {
  const cli = commandLine({ ...harness.environment, ARTIFACT_STORE: 'file:///dev/null/x' })
  const { code, stdout, stderr } = await cli.run('import', '--knowledge-base', 'rules', '--source', RULEBOOK)
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(
    /^\/dev\/null\/x\S* is not a folder, or is inside a file: correct the path given, or ARTIFACT_STORE\.\n$/m,
  )
})
