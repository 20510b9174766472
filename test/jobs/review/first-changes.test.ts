import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { REVIEW_BOUNDS } from '#jobs/review/bounds.ts'
import { firstChanges } from '#jobs/review/first-changes.ts'
import { testPassage } from '#test/support/passages.ts'
import { comparePassages } from '#test/support/compared-contents.ts'
import { folderOfTest } from '#test/support/folder.ts'

/** What the audit row of an activation names of the step from one version to the other. */
async function named(before: readonly PassageRecord[], after: readonly PassageRecord[]): Promise<readonly string[]> {
  const folder = folderOfTest()
  const path = join(folder, 'changes.jsonl')
  writeFileSync(path, (await comparePassages(before, after)).bytes)
  return await firstChanges(path)
}

const BEFORE = Array.from({ length: 60 }, (_, n) => testPassage(n))
const retitled = (passage: PassageRecord): PassageRecord => ({
  ...passage,
  document: { ...passage.document, title: 'Another title' },
})

test('the audit names an altered text before a new title of every passage, with the fields', async () => {
  const after = BEFORE.map((passage, n) => retitled(n === 45 ? { ...passage, text: 'The firm need not.' } : passage))
  const lines = await named(BEFORE, after)
  expect(lines).toHaveLength(REVIEW_BOUNDS.auditedChangesMax)
  expect(lines[0]).toMatch(/^passages_changed: Rule 45, Rulebook 4 \(text, title\)$/)
  expect(lines[1]).toMatch(/^documents_changed: Rulebook \d \(title\)$/)
  expect(lines.at(-1)).toMatch(/^passages_changed: Rule \d+, Rulebook \d \(title\)$/)
})

test('the audit names texts, removals, repeated passages, other changes and additions in this order', async () => {
  const copy = { ...testPassage(9, { provision: 'copy' }), citation: { ...testPassage(5).citation } }
  const after = [
    ...BEFORE.slice(0, 8).map((passage, n) => (n === 3 ? { ...passage, text: 'Another text.' } : passage)),
    ...BEFORE.slice(9).map((passage, n) => (n === 30 ? { ...passage, heading: 'Another heading' } : passage)),
    copy,
    testPassage(100),
  ]
  expect(await named(BEFORE, after)).toEqual([
    'passages_changed: Rule 3, Rulebook 0 (text)',
    'passages_removed: Rule 8, Rulebook 0',
    'passages_repeated: Rule 5, Rulebook 0',
    'passages_changed: Rule 39, Rulebook 3 (heading)',
    'documents_added: Rulebook 10',
    'passages_added: Rule 100, Rulebook 10',
  ])
})
