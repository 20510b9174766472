import { rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { commandLine } from '#test/support/operator-cli.ts'
import { folderOfFile } from '#test/support/folder.ts'
import { SAMPLES } from './samples.ts'

const folder = folderOfFile()
beforeAll(async () => {
  for (const { name, bytes } of SAMPLES) await writeFile(join(folder, `${name}.file`), bytes)
  await writeFile(join(folder, 'torn.xml'), '<act>\n<p>text</act>')
})

const FIELDS =
  'path format title identifier language jurisdiction authority published_at effective_from effective_to provisions anchored by_kind coverage warnings'

test('inspect says without any configuration what each file of a folder holds', async () => {
  const found = z.array(z.looseObject({})).parse(await commandLine({}).json('inspect', folder))
  expect(found).toHaveLength(SAMPLES.length + 1)
  expect(found).toEqual(
    expect.arrayContaining([expect.objectContaining({ format: 'clml', provisions: 12, anchored: 8 })]),
  )
  for (const each of found) expect(Object.keys(each).join(' ')).toBe(FIELDS)
})

test('inspect says of a file that is not read why, with its line, and reads the others', async () => {
  const { code, stdout } = await commandLine({}).run('inspect', folder)
  expect(code).toBe(0)
  expect(stdout).toContain('torn.xml:2: not well-formed XML: unexpected close tag')
  expect(stdout).toMatch(new RegExp(`^In ${folder}/\\nfile +format`))
})

test('inspect follows a link within its folder, and refuses one out of it', async () => {
  const [within, out] = [join(folder, 'within.file'), join(folder, 'out.file')]
  await symlink(join(folder, 'torn.xml'), within)
  expect((await commandLine({}).run('inspect', folder)).stdout).toContain('within.file')
  await symlink(fileURLToPath(import.meta.url), out)
  expect(await commandLine({}).refused('inspect', folder)).toContain(`${out} is a link out of ${folder}`)
  await Promise.all([rm(within), rm(out)])
})

test('inspect refuses a path that does not exist', async () => {
  const { code, stderr } = await commandLine({}).run('inspect', join(folder, 'missing'))
  expect(code).toBe(1)
  expect(stderr).toContain('name an existing file or folder')
})
