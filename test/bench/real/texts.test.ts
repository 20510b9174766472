import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { whatIsMissing } from './texts.ts'

test('real vectors without encoder and corpora are refused with what to do', () => {
  const empty = mkdtempSync(join(tmpdir(), 'evidence-bench-real-'))
  try {
    expect(whatIsMissing(empty)).toMatch(/^Real vectors need an encoder .* Put 6 missing file\(s\) there/)
  } finally {
    rmSync(empty, { recursive: true, force: true })
  }
})
