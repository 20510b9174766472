import { expect, test } from 'vitest'
import { changesSection } from '#jobs/evaluation/compare/page/changes.ts'
import { warningsOf } from '#jobs/evaluation/compare/page/warnings.ts'
import { CHANGED_REPORT } from '#test/jobs/evaluation/page/evaluation-report.ts'

test.each([
  ['within 14 calendar days', 'within 21 calendar days', 'A deadline changes: “14 calendar days” → “21 calendar days”'],
  ['binnen zwei Wochen', 'binnen drei Wochen', 'A deadline changes: “binnen zwei Wochen” → “binnen drei Wochen”'],
  ['a fee of EUR 500', 'a fee of EUR 5,000', 'A sum changes: “EUR 500” → “EUR 5,000”'],
  ['a fee of nine crowns', 'a fee of ten crowns', 'A sum changes: “of nine crowns” → “of ten crowns”'],
  ['il paie par an', 'il paie par mois', 'A deadline changes: “paie par an” → “paie par mois”'],
  ['at most 10 per cent', 'at most 12 per cent', 'A sum changes: “10 per cent” → “12 per cent”'],
  ['see rule 7', 'see rule 8', 'A number changes: “7” → “8”'],
  ['it may lend', 'it may not lend', 'A negation changes: none → “not”'],
  ['er darf zahlen', 'er muss zahlen', 'A modal verb changes: “darf” → “muss”'],
  ["il ne paie pas l'amende", "il paie l'amende", 'A negation changes: “ne”, “pas” → none'],
])('"%s" → "%s" has one warning', (before, after, warning) => {
  expect(warningsOf(before, after)).toEqual([warning])
})

test('other words, and the same ones in another order, have none', () => {
  expect(warningsOf('A ship drops an anchor.', 'The ship weighs its anchor.')).toEqual([])
  expect(warningsOf('It must not pay 5 euros in 3 days.', 'In 3 days it must not pay 5 euros, however.')).toEqual([])
})

test('a threshold that was fitted anew is one sentence in place of its weights', () => {
  const value = (threshold: number): string =>
    JSON.stringify({ threshold, weights: Array.from({ length: 500 }, () => threshold) })
  const fitted = { kind: 'profile_fitted', field: 'calibration', before: value(0.48), after: value(0.47) } as const
  const { source } = changesSection(CHANGED_REPORT, [fitted])
  expect(source.replaceAll(/\s+/g, ' ')).toMatch(
    /Threshold 0\.480 → 0\.470: none of \d+ questions changes its decision\./,
  )
  expect(source).not.toContain('weights&quot;')
})
