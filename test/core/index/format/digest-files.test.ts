import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { digestFiles } from '#core/index/format/verify.ts'
import { sha256 } from '#core/platform/digest.ts'
import { folderOfFile } from '#test/support/folder.ts'

const folder = folderOfFile()

function written(name: string, bytes: number) {
  const content = Buffer.alloc(bytes, name)
  writeFileSync(join(folder, name), content)
  return { path: join(folder, name), bytes, content }
}

test.each([
  ['small files, hashed in turn', [10, 0, 4_000]],
  ['large files, hashed on several threads', [50_000_000, 1, 30_000_000, 0, 2_000_000]],
])('%s: each has its own size and SHA-256, in the order asked for', async (_, sizes) => {
  const files = sizes.map((bytes, at) => written(`${sizes.length}-${at}`, bytes))
  expect(await digestFiles(files)).toEqual(
    files.map(({ bytes, content }) => ({ bytes, sha256: sha256(content).toString('hex') })),
  )
})

test('a file that cannot be read fails the whole, also from a thread', async () => {
  const large = written('large', 70_000_000)
  await expect(digestFiles([large, { path: join(folder, 'missing'), bytes: 1 }])).rejects.toThrow(/missing/)
})
