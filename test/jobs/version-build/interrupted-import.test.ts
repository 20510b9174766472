import { existsSync, readFileSync, readdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import type { BuildContext } from '#jobs/version-build/context.ts'
import { buildVersion } from '#jobs/version-build/pipeline.ts'
import { sortPassages } from '#jobs/version-build/sort.ts'
import { statedMapping } from '#law/import/corpus/corpus-mapping.ts'
import { parseSourceYaml } from '#law/import/corpus/source-yaml.ts'
import { captureSources } from '#law/sources/capture.ts'
import { listSource } from '#law/sources/list.ts'
import { act, ONE, TWO } from '#test/law/sources/git/repository.ts'
import { storeIn } from '#test/support/artifact.ts'
import { folderOfTest, folderWith } from '#test/support/folder.ts'
import { buildContextOf, QUIET_BUILD } from './quiet-build.ts'

/** Of acts with two articles each. */
const RECORDS = 20
const KILLED_AFTER = 9
/** Four acts were whole by then. */
const REST = 12
const MAPPING = 'authorities: { ley: Congreso }\naccepted_losses: ["markdown text_state: current (1)"]\n'

async function contextOf(text = TWO, yaml = MAPPING): Promise<BuildContext> {
  // One is a loss.
  const acts = Array.from({ length: RECORDS / 2 }, (_, n) => {
    const fields = { identifier: `LEY-${n}`, title: `Ley ${n}`, ...(n === 1 ? { text_state: 'current' } : {}) }
    return [`pe/LEY-${n}.md`, act(n === 2 ? text : ONE, fields)] as const
  })
  const store = storeIn(folderOfTest())
  const captured = await captureSources(store, (await listSource(folderWith(Object.fromEntries(acts)), 'law')).files)
  const source = { captured, mapping: statedMapping(parseSourceYaml(yaml)) }
  return await buildContextOf('interrupted', store, source, { embedding: 'none' })
}

/** Imports and sorts. @returns what it made, and how many records were read. */
async function imported(context: BuildContext) {
  let read = 0
  const progress = { ...QUIET_BUILD.progress, at: (done: number, total: number) => void (read = total ? read : done) }
  const { report } = await sortPassages({ ...context, progress })
  const names = readdirSync(context.workFolder)
  const files = names.map((name) => readFileSync(join(context.workFolder, name), 'utf8'))
  return { read, made: { report, names, files } }
}

const heldOf = ({ workFolder }: BuildContext): string => join(workFolder, 'read.sqlite')
/** Ends an import in the middle of a file, and leaves what a killed process leaves. */
async function interrupted(): Promise<BuildContext> {
  const context = await contextOf()
  const ending = new AbortController()
  const at = (done: number): void => (done === KILLED_AFTER ? ending.abort(new Error('ended')) : undefined)
  const progress = { ...QUIET_BUILD.progress, at }
  await expect(sortPassages({ ...context, progress, signal: ending.signal })).rejects.toThrow('ended')
  return context
}

test('an import that was interrupted reads the rest alone, and makes the same bytes', async () => {
  const undisturbed = await contextOf()
  const whole = await imported(undisturbed)
  const context = await interrupted()
  const resumed = await imported(context)
  expect([whole.read, resumed.read]).toEqual([RECORDS, REST])
  expect(resumed.made).toEqual(whole.made)
  expect(resumed.made.names).not.toContain('read.sqlite')
  expect(whole.made.report.losses).toMatchObject([{ accepted: true, source: 'pe/LEY-1.md' }])
  const [expected, made] = [await buildVersion(undisturbed, undefined), await buildVersion(context, undefined)]
  expect(made.artifact.manifestDigest).toEqual(expected.artifact.manifestDigest)
})

const changeByte = (path: string): void =>
  writeFileSync(path, readFileSync(path, 'latin1').replaceAll('tiene dos', 'tiene dot'), 'latin1')

test.each<[string, number, (path: string) => void]>([
  ['of which a byte was changed', REST + 2, changeByte],
  ['that is cut', RECORDS, (path) => truncateSync(path, 6_000)],
  ['that is no such file', RECORDS, (path) => writeFileSync(path, 'read '.repeat(1_000))],
])('what an interrupted import has read is read again from a file %s', async (_, records, damage) => {
  const context = await interrupted()
  damage(heldOf(context))
  const { read, made } = await imported(context)
  expect(read).toBe(records)
  expect(made).toEqual((await imported(await contextOf())).made)
})

test.each([
  ['another text', 'Cada casa tiene tres lámparas.', MAPPING, RECORDS],
  ['another statement', TWO, MAPPING.replace('Congreso', 'Parlamento'), RECORDS],
  ['another accepted loss', TWO, MAPPING.replace(']', ', "other"]'), REST],
])('after an interruption, an import with %s begins anew, unless it gives the same', async (_, text, yaml, records) => {
  const context = await interrupted()
  const { store, source } = await contextOf(text, yaml)
  expect((await imported({ ...context, store, source })).read).toBe(records)
})

test('what another import holds is not taken over', async () => {
  const context = await interrupted()
  const connection = new DatabaseSync(heldOf(context))
  connection.exec('begin exclusive')
  expect((await imported(context)).read).toBe(RECORDS)
  expect(existsSync(heldOf(context))).toBe(true)
  connection.close()
})
