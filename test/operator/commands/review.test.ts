import { execFile } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { writeDurably } from '#core/platform/durable-file.ts'
import { sha256 } from '#core/platform/digest.ts'
import { evaluationInWords } from '#operator/commands/review.ts'
import { CHANGED_REPORT } from '#test/jobs/evaluation/page/evaluation-report.ts'
import { MAIN } from '#test/support/operator-cli.ts'
import { withoutGuards } from '#test/support/postgres.ts'
import { candidate, openCorpusHarness } from '#test/support/operator-corpus.ts'

const run = promisify(execFile)
/** Larger than the buffer of a pipe, and without a line end. */
const page = Buffer.from(`<!doctype html><p>${'Straße – § 433 '.repeat(20_000)}</p>`)
const harness = await openCorpusHarness()
const { cli } = harness
const version = await candidate(harness, 'one.md')
await withoutGuards(harness.owner, 'update corpus_versions set report_sha256 = $2 where id = $1', [
  version,
  sha256(page),
])
await writeDurably(harness.store.reportFile(version), page)

test('the report of a version is copied to a new file, byte for byte, and no file is replaced', async () => {
  const file = join(harness.folder, 'report.html')
  expect(await cli.json('review report', version, '--out', file)).toEqual({
    version_id: version,
    file,
    bytes: page.length,
  })
  expect(readFileSync(file)).toEqual(page)
  writeFileSync(file, 'notes of a reviewer')
  const exists = `${file} exists already: name another file, or remove it first.\n`
  expect(await cli.refused('review report', version, '--out', file)).toBe(exists)
  expect(readFileSync(file, 'utf8')).toBe('notes of a reviewer')
  expect(await cli.refused('review report', version, '--out', join(harness.folder, 'no/r.html'))).toContain(
    'is in a folder that does not exist: create the folder',
  )
})

test('the list of changes is copied too, where the version was compared with another', async () => {
  const copy = `review report ${version} --part changes --out -`
  expect(await cli.refused(copy)).toBe('The version was compared with no other, so there is no list of changes.\n')
  const changes = Buffer.from('{"kind":"passages_changed"}\n')
  await withoutGuards(harness.owner, 'update corpus_versions set changes_sha256 = $2 where id = $1', [
    version,
    sha256(changes),
  ])
  await writeDurably(harness.store.changesFile(version), changes)
  expect(await cli.run(copy)).toMatchObject({ code: 0, stdout: changes.toString() })
})

test('with "-" standard output has the bytes of the report and nothing else', async () => {
  const { stdout } = await run(process.execPath, [MAIN, 'review', 'report', version, '--out', '-'], {
    env: { PATH: process.env['PATH'], ...harness.environment },
    encoding: 'buffer',
    maxBuffer: 2 * page.length,
  })
  expect(sha256(stdout).toString('hex')).toBe(sha256(page).toString('hex'))
})

test('a report whose bytes are not those on record is refused in one sentence', async () => {
  const file = join(harness.folder, 'altered.html')
  await writeDurably(harness.store.reportFile(version), Buffer.concat([page, Buffer.from(' ')]))
  expect(await cli.refused('review report', version, '--out', file)).toBe(
    'The report file of the version is altered: restore the file from a backup, or build the version again.\n',
  )
  expect(existsSync(file)).toBe(false)
})

test('a report that the artifact store does not hold is refused in one sentence', async () => {
  rmSync(harness.store.reportFile(version))
  expect(await cli.refused('review report', version, '--out', '-')).toMatch(
    /^The report file of this version cannot be read from the artifact store: [^\n]*\n$/,
  )
})

test('a review is shown with its verdict and each bar, without the figures behind them', () => {
  const shown = evaluationInWords(CHANGED_REPORT)
  expect(shown).toMatchObject({ verdict: expect.stringMatching(/every approval must accept .* by name/) })
  const bars = CHANGED_REPORT.gates.filter(({ group }) => group !== 'changes')
  expect(Object.keys(shown as object)).toEqual(['verdict', ...bars.map(({ label }) => label)])
})
