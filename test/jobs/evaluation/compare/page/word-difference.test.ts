import { expect, test } from 'vitest'
import { wordDifference } from '#jobs/evaluation/compare/page/word-difference.ts'

const shownOf = (before: string, after: string): string =>
  wordDifference(before, after)
    .map(({ source }) => source)
    .join('')

test('a long run of equal words is cut between words, and between signs where the writing has no spaces', () => {
  const words = 'considerations '.repeat(60)
  const shown = shownOf(`old ${words}old`, `new ${words}new`)
  expect(shown).toMatch(/^<del>old<\/del><ins>new<\/ins>( considerations)+ … (considerations )+<del>old/)
  const signs = '合同'.repeat(300)
  expect(shownOf(`old ${signs} old`, `new ${signs} new`)).toMatch(/<\/ins> (合同)+合? … 同?(合同)+ <del>/)
})
