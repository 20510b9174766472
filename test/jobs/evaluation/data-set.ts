import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { folderOfTest } from '#test/support/folder.ts'

/** Writes files by their relative paths into a folder, of the test unless another is named; objects become one JSON line each. */
export function writeDataSet(
  files: Readonly<Record<string, string | readonly object[]>>,
  folder = folderOfTest(),
): string {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(
      path,
      typeof content === 'string' ? content : content.map((line) => `${JSON.stringify(line)}\n`).join(''),
    )
  }
  return folder
}

/** Flags of a model at an endpoint, whose prefixes tell questions from passages. */
export function modelFlags(baseUrl: string): readonly string[] {
  const prefixes = ['--embedding-query-prefix', 'ask: ', '--embedding-passage-prefix', 'tell: ']
  return ['--embeddings', baseUrl, '--embedding-model', 'of-the-test', ...prefixes, '--no-vector-cache']
}
