import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, onTestFinished } from 'vitest'

/** A new, empty folder, which is removed after the tests of the calling file. */
export function folderOfFile(): string {
  return folderUntil(afterAll)
}

/** A new, empty folder, which is removed after the test that asks for it, or whose hook does. */
export function folderOfTest(): string {
  return folderUntil(onTestFinished)
}

/** A folder of the test that asks for it, with these files. */
export function folderWith(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = folderOfTest()
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
  return folder
}

function folderUntil(end: (remove: () => void) => void): string {
  const folder = mkdtempSync(join(tmpdir(), 'evidence-test-'))
  end(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
