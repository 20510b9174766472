import { beforeAll, expect, test } from 'vitest'
import { askKnownItems, languagesOfSet } from './known-items.ts'
import type { KnownItem } from './known-items.ts'

const SIX_LANGUAGES = ['ar', 'hi', 'ja', 'ko', 'th', 'zh']
const FOUND_WITHIN = 5
const RECALL_MIN = 0.95

let items: readonly KnownItem[]
beforeAll(async () => {
  items = await askKnownItems()
})

const missed = (asked: readonly KnownItem[]): readonly KnownItem[] => asked.filter(({ rank }) => rank > FOUND_WITHIN)
const recall = (asked: readonly KnownItem[]): number => 1 - missed(asked).length / asked.length

test('a hundred known items in six languages are found among the first five passages, by words alone', () => {
  const asked = items.filter(({ language }) => SIX_LANGUAGES.includes(language))
  expect(asked.length).toBeGreaterThanOrEqual(100)
  expect(recall(asked), JSON.stringify(missed(asked))).toBeGreaterThanOrEqual(RECALL_MIN)
})

test.each(languagesOfSet())('in each language, at most one known item is missed: %s', (language) => {
  const asked = items.filter((item) => item.language === language)
  expect(asked.length).toBeGreaterThanOrEqual(8)
  expect(missed(asked).length, JSON.stringify(missed(asked))).toBeLessThanOrEqual(1)
})
