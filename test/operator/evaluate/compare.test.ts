import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { compareEvaluations } from '#operator/evaluate/compare.ts'
import { folderOfFile } from '#test/support/folder.ts'

const folder = folderOfFile()

function fileOf(name: string, values: readonly number[], figure = 'recall@5'): string {
  const questions = values.map((value, at) => [`q${at}`, { [figure]: value }])
  const path = join(folder, name)
  writeFileSync(
    path,
    JSON.stringify({ about: { commit: '', model: null }, per_question: Object.fromEntries(questions) }),
  )
  return path
}

const rows = (before: string, after: string) => compareEvaluations(before, after)[0]?.rows ?? []
const verdict = (before: string, after: string): unknown => Object.values(rows(before, after)[0] ?? []).at(-1)
const repeated = (...values: readonly number[]): number[] => Array.from({ length: 10 }, () => values).flat()

test('a difference that its interval decides is named; of another one it is said how many questions would tell', () => {
  const before = fileOf('before.json', repeated(0, 1, 0, 1))
  expect(rows(before, fileOf('up.json', repeated(1, 1, 1, 1)))).toMatchObject([
    ['recall@5', 40, '0.500', '1.000', expect.stringMatching(/^\+0\.500 \[\+0\.\d+, \+0\.\d+\]$/), 'higher'],
  ])
  expect(verdict(before, fileOf('down.json', repeated(0, 0, 0, 0)))).toBe('lower')
  expect(verdict(before, before)).toBe('no difference in 40 questions')
  // One question of forty: a variance of 0.0244 and a mean of 0.025 need (2.8² × 0.0244) / 0.025² = 306 questions.
  const [, ...rest] = repeated(0, 1, 0, 1)
  expect(verdict(before, fileOf('one.json', [1, ...rest]))).toBe('not decided by 40 questions; about 306 would tell')
})

test('files without a question in common, and others than those of an evaluation, are refused', () => {
  const before = fileOf('before.json', [0, 1])
  expect(() => rows(before, fileOf('other.json', [0, 1], 'listed_at5'))).toThrow('no question in common')
  writeFileSync(join(folder, 'none.json'), '{"a": 1}')
  expect(() => rows(before, join(folder, 'none.json'))).toThrow('is no file of "evaluate --json"')
  expect(() => rows(before, join(folder, 'absent.json'))).toThrow('is no file of "evaluate --json"')
})
