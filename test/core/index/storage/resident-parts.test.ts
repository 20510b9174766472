import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createResidentParts, wholeFile } from '#core/index/storage/resident-parts.ts'
import { folderOfFile } from '#test/support/folder.ts'

const folder = folderOfFile()

test.each([1, 65_536, 65_537])('memory of %i bytes of a file is read once for all threads', (size) => {
  const path = join(folder, String(size))
  const bytes = Uint8Array.from({ length: size }, (_, at) => at * 7)
  writeFileSync(path, bytes)
  const parts = createResidentParts()
  expect(() => parts.memory(wholeFile(path, size + 1))).toThrow('not as long')
  const memory = parts.memory(wholeFile(path, size))
  rmSync(path)
  expect(new Uint8Array(memory.buffer, 0, size)).toEqual(bytes)
  for (const known of [parts, createResidentParts(parts.shared)])
    expect(known.memory(wholeFile(path, size))).toBe(memory)
})
