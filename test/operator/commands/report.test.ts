import { execFile } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { writeDurably } from '#core/platform/durable-file.ts'
import { sha256 } from '#core/platform/digest.ts'
import { withoutGuards } from '#test/support/postgres.ts'
import { candidate, openCorpusHarness } from '#test/support/operator-corpus.ts'

const run = promisify(execFile)
const program = fileURLToPath(new URL('../../../operator/main.ts', import.meta.url))
/** Larger than the buffer of a pipe, and without a line end. */
const page = Buffer.from(`<!doctype html><p>${'Straße – § 433 '.repeat(20_000)}</p>`)
const harness = await openCorpusHarness()
let version: string

beforeAll(async () => {
  version = await candidate(harness, 'one.md')
  await withoutGuards(harness.owner, 'update corpus_versions set report_sha256 = $2 where id = $1', [
    version,
    sha256(page),
  ])
  await writeDurably(harness.store.reportFile(version), page)
})
afterAll(() => harness.close())

test('the report of a version is copied to a new file, byte for byte, and no file is replaced', async () => {
  const file = join(harness.folder, 'report.html')
  expect(await harness.cli.json('review', 'report', version, '--out', file)).toEqual({
    version_id: version,
    file,
    bytes: page.length,
  })
  expect(readFileSync(file)).toEqual(page)
  writeFileSync(file, 'notes of a reviewer')
  const again = await harness.cli.run('review', 'report', version, '--out', file)
  expect(again).toMatchObject({ code: 1, stderr: `${file} exists already: name another file, or remove it first.\n` })
  expect(readFileSync(file, 'utf8')).toBe('notes of a reviewer')
  const nowhere = await harness.cli.run('review', 'report', version, '--out', join(harness.folder, 'no/r.html'))
  expect(nowhere.stderr).toMatch(/is in a folder that does not exist: create the folder/)
})

test('the list of changes is copied too, where the version was compared with another', async () => {
  const compared = await harness.cli.run('review', 'report', version, '--part', 'changes', '--out', '-')
  expect({ code: compared.code, stdout: compared.stdout }).toEqual({ code: 1, stdout: '' })
  expect(compared.stderr).toBe('The version was compared with no other, so there is no list of changes.\n')
  const changes = Buffer.from('{"kind":"passages_changed"}\n')
  await withoutGuards(harness.owner, 'update corpus_versions set changes_sha256 = $2 where id = $1', [
    version,
    sha256(changes),
  ])
  await writeDurably(harness.store.changesFile(version), changes)
  const { code, stdout } = await harness.cli.run('review', 'report', version, '--part', 'changes', '--out', '-')
  expect({ code, stdout }).toEqual({ code: 0, stdout: changes.toString() })
})

test('with "-" standard output has the bytes of the report and nothing else', async () => {
  const { stdout } = await run(process.execPath, [program, 'review', 'report', version, '--out', '-'], {
    env: { PATH: process.env['PATH'], ...harness.environment },
    encoding: 'buffer',
    maxBuffer: 2 * page.length,
  })
  expect(sha256(stdout).toString('hex')).toBe(sha256(page).toString('hex'))
})

test('a report whose bytes are not those on record is refused in one sentence', async () => {
  const file = join(harness.folder, 'altered.html')
  await writeDurably(harness.store.reportFile(version), Buffer.concat([page, Buffer.from(' ')]))
  const { code, stderr } = await harness.cli.run('review', 'report', version, '--out', file)
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: 'The report file of the version is altered: restore the file from a backup, or build the version again.\n',
  })
  expect(existsSync(file)).toBe(false)
})

test('a report that the artifact store does not hold is refused in one sentence', async () => {
  rmSync(harness.store.reportFile(version))
  const { code, stdout, stderr } = await harness.cli.run('review', 'report', version, '--out', '-')
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(/^The report file of this version cannot be read from the artifact store: [^\n]*\n$/)
})
