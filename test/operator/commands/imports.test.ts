import { mkdirSync, writeFileSync } from 'node:fs'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { sha256 } from '#core/platform/digest.ts'
import { commandLine } from '#test/support/operator-cli.ts'
import { openCorpusHarness, withId } from '#test/support/operator-corpus.ts'
import { act, ONE } from '#test/law/sources/git/repository.ts'
import { line, smallMapping } from '#test/support/import.ts'
import { until } from '#test/support/until.ts'

const RULEBOOK = fileURLToPath(new URL('../../../operator/demo/corpus/rulebook', import.meta.url))
const IMPORT = 'import --knowledge-base rules --source'

const harness = await openCorpusHarness()
const { cli, owner, folder } = harness
const withReport = z.object({ report: z.looseObject({ passages: z.int().min(1) }) })
const importsRecorded = async (): Promise<number | null> => (await owner.query('select 1 from imports')).rowCount

test('the demo rulebook is captured byte for byte, reported on, and recorded with its trail', async () => {
  const { code, stdout, stderr } = await cli.run(`${IMPORT} ${RULEBOOK} --json`)
  expect(code, stderr).toBe(0)
  expect(stderr).toContain('capturing')
  const imported = withId.extend({ report: z.object({ files: z.int(), passages: z.int() }) }).parse(JSON.parse(stdout))
  expect(imported.report.files).toBeGreaterThan(10)
  expect(imported.report.passages).toBeGreaterThan(60)
  const { rows } = await owner.query<{ source_name: string; sha256: Buffer }>(
    'select source_name, sha256 from source_snapshots',
  )
  expect(rows).toHaveLength(imported.report.files)
  for (const { source_name, sha256: digest } of rows) {
    const bytes = await readFile(join(RULEBOOK, source_name))
    expect(sha256(bytes).equals(digest), source_name).toBe(true)
    expect(await readFile(harness.store.snapshotFile(digest.toString('hex')))).toEqual(bytes)
  }
  const shown = await cli.run('imports show', imported.id)
  expect(shown.stdout).toContain(`${imported.report.passages}  passages`)
  const trail = await owner.query("select subject from audit where action = 'import.create'")
  expect(trail.rows).toEqual([{ subject: `import:${imported.id}` }])
})

test('a source of which nothing becomes a passage is refused with the report, and leaves no row', async () => {
  const path = join(folder, 'bare.md')
  writeFileSync(path, '# No front matter\n\nText.\n')
  const before = await importsRecorded()
  expect(await cli.refused(IMPORT, path)).toMatch(/Nothing in the source became a passage[\s\S]*bare\.md:1/)
  expect(await importsRecorded()).toBe(before)
})

test.each([
  [
    'a source that is neither file nor folder',
    '/dev/null',
    /^\/dev\/null is no regular file and no folder: name another one\n$/m,
  ],
  ['a source that is not there', '/nowhere/at/all', /cannot read \/nowhere\/at\/all/],
  [
    'a mapping that is not there',
    `${RULEBOOK} --mapping /nowhere.json`,
    /The mapping file \/nowhere\.json cannot be read: check its path and rights\./,
  ],
  [
    'a mapping that is not JSON',
    `${RULEBOOK} --mapping ${join(RULEBOOK, 'hsfa-data-harbour.2023-05-01.md')}`,
    /is not JSON: correct it and import again\./,
  ],
])('%s is refused in a sentence', async (_what, args, sentence) => {
  expect(await cli.refused(`${IMPORT} ${args}`)).toMatch(sentence)
})

test('an artifact store that lies in no folder is refused with what to correct', async () => {
  const elsewhere = commandLine({ ...harness.environment, ARTIFACT_STORE: 'file:///dev/null/x' })
  expect(await elsewhere.refused(IMPORT, RULEBOOK)).toMatch(
    /^\/dev\/null\/x\S* is not a folder, or is inside a file: correct the path given, or ARTIFACT_STORE\.\n$/m,
  )
})

const MAPPING = join(folder, 'mapping.json')

/** A folder with a JSONL corpus of one document, in parts. */
function corpusOf(name: string, parts: Readonly<Record<string, readonly string[]>>): string {
  const path = join(folder, name)
  mkdirSync(path, { recursive: true })
  for (const [part, lines] of Object.entries(parts)) writeFileSync(join(path, part), lines.join('\n'))
  writeFileSync(MAPPING, JSON.stringify(smallMapping()))
  return path
}

function rules(count: number, from = 0): readonly string[] {
  return Array.from({ length: count }, (_, n) =>
    line(`r${from + n}`, `Rule ${from + n} of the bees.`, { section: from + n }),
  )
}

const importOf = (source: string): string => `${IMPORT} ${source} --mapping ${MAPPING}`

test('two imports of one source at once both succeed, on the same snapshots', async () => {
  const parts = Object.fromEntries([1, 2, 3].map((n) => [`corpus-${n}.jsonl`, rules(300, n * 1_000)]))
  const source = corpusOf('twice', parts)
  const ended = await Promise.all([1, 2, 3].map(() => cli.json(importOf(source))))
  const ids = ended.map((imported) => withId.parse(imported).id)
  const { rows } = await owner.query<{ snapshot_ids: readonly string[] }>(
    'select snapshot_ids from imports where id = any($1)',
    [ids],
  )
  expect(rows).toHaveLength(3)
  expect(rows[0]?.snapshot_ids).toHaveLength(3)
  for (const row of rows) expect(row.snapshot_ids).toEqual(rows[0]?.snapshot_ids)
})

test('a loss refuses the import with its name, and nothing is recorded, until the operator names it', async () => {
  const source = corpusOf('lossy', { 'corpus.jsonl': [...rules(2), line('late', 'Text.', { effective: 'soon' })] })
  const before = await importsRecorded()
  for (const accepted of [[], ['--accept-loss', 'r0,another']]) {
    const stderr = await cli.refused(importOf(source), ...accepted)
    expect(stderr).toContain('corpus.jsonl:3 late: effective_at is not a date; not accepted as late')
    expect(stderr).toContain('Nothing is imported, because 1 loss is not accepted')
  }
  const listed = await cli.run(importOf(source), '--json')
  expect(JSON.parse(listed.stdout)).toMatchObject({ losses: [{ name: 'late', line: 3, accepted: false }] })
  expect(await cli.refused(importOf(source), '--accept-loss', 'late,another')).toContain(
    '1 names of --accept-loss match no loss, first "another"',
  )
  expect(await importsRecorded()).toBe(before)

  const { id } = withId.parse(await cli.json(importOf(source), '--accept-loss', 'late'))
  const shown = await cli.run('imports show', id)
  expect(shown.stdout).toContain('corpus.jsonl:3 late: effective_at is not a date; accepted as late')
})

test('a clean import is built next', async () => {
  const { stdout } = await cli.run(importOf(corpusOf('clean', { 'corpus.jsonl': rules(2) })))
  expect(stdout).toMatch(/\nNext: operator build start --import \S+ --questions FILE --wait\n$/)
})

test('sources that contradict each other are refused by place, and nothing is recorded', async () => {
  const source = corpusOf('contrary', {
    'corpus-1.jsonl': rules(1),
    'corpus-2.jsonl': [line('r0', 'Another rule of the bees.', { section: 0 })],
  })
  const before = await importsRecorded()
  expect(await cli.refused(importOf(source))).toMatch(
    /Nothing is imported[\s\S]*corpus-1\.jsonl:1 r0 and corpus-2\.jsonl:1 r0 have one id/,
  )
  expect(await importsRecorded()).toBe(before)
})

const INTERRUPTED = expect.stringMatching(/was interrupted: nothing is imported; run it again\.\n$/)

test.each([
  ['SIGINT', 1, INTERRUPTED],
  ['SIGTERM', 1, INTERRUPTED],
  ['SIGKILL', null, expect.any(String)],
] as const)(
  'an import that %s ends while it reads leaves no row and no temporary file',
  async (signal, exitCode, said) => {
    const source = corpusOf(`interrupted-${signal}`, { 'corpus.jsonl': rules(40_000) })
    const before = await importsRecorded()
    const running = cli.start(importOf(source))
    await until('the import reads', () => running.stderr().includes('reading records'))
    running.signal(signal)
    const { code, stdout, stderr } = await running.ended
    expect({ code, stdout, stderr }).toEqual({ code: exitCode, stdout: '', stderr: said })
    expect(await importsRecorded()).toBe(before)
    expect(await readdir(join(folder, 'store', 'snapshots', 'incoming'))).toEqual([])
  },
)

test('an import that is killed while it reads is taken over, and gives the same', async () => {
  const articles = Array.from({ length: 30 }, (_, n) => `\n##### Artículo ${n + 3}\n\nCada casa tiene ${n}.\n`).join('')
  const text = `${act(ONE)}${articles}`
  const acts = Array.from({ length: 40 }, (_, n) => [`${n}.md`, [text.replaceAll(/LEY-12|Ley de/g, `L-${n}`)]] as const)
  const source = corpusOf('killed', Object.fromEntries([...acts, ['source.yaml', ['authorities: { ley: Congreso }']]]))
  const whole = withReport.parse(await cli.json(IMPORT, source))
  const running = cli.start(`${IMPORT} ${source}`)
  await until('the import reads', () => running.stderr().includes('reading records'))
  running.signal('SIGKILL')
  expect((await running.ended).code).toBeNull()

  const { stdout, stderr } = await cli.run(`${IMPORT} ${source} --json`)
  const [, taken] = /files taken over from the interrupted import: (\d+) of 40 /.exec(stderr) ?? []
  expect(Number(taken)).toBeGreaterThan(0)
  expect(Number(taken)).toBeLessThan(40)
  expect(withReport.parse(JSON.parse(stdout)).report).toEqual(whole.report)
  expect(await readdir(join(folder, 'store', 'snapshots', 'incoming'))).toEqual([])
})
