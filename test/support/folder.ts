import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, onTestFinished } from 'vitest'

/** A new, empty folder, which is removed after the tests of the calling file. */
export function folderOfFile(): string {
  return folderUntil(afterAll)
}

/** A new, empty folder, which is removed after the test that asks for it, or whose hook does. */
export function folderOfTest(): string {
  return folderUntil(onTestFinished)
}

function folderUntil(end: (remove: () => void) => void): string {
  const folder = mkdtempSync(join(tmpdir(), 'evidence-test-'))
  end(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
