import type { ArtifactRow } from '#core/index/format/writer.ts'
import { seededRandom, testRows } from '#test/support/artifact.ts'
import type { PassageTraits, TestCorpusOptions } from '#test/support/artifact.ts'

const TOPIC_WORDS = 12
const COMMON_WORDS = 400

/**
 * Invented words, none of which is another's stem or a function word: letters only, so that none is parsed as a
 * reference.
 */
function wordOf(kind: string, number: number): string {
  const syllables = ['ba', 'do', 'ki', 'lu', 'mo', 'na', 'pu', 'ro', 'ti', 'vu']
  return `${kind}${[...String(number)].map((digit) => syllables[Number(digit)]).join('')}x`
}

/** The word that passage number `n` alone holds. */
export function ownWord(n: number): string {
  return wordOf('own', n)
}

/** A question in words of one topic, which its passages share. */
export function questionOn(topic: number, random: () => number): string {
  return Array.from({ length: 5 }, () =>
    wordOf('topic', topic * TOPIC_WORDS + Math.floor(random() * TOPIC_WORDS)),
  ).join(' ')
}

/** Rows whose words correlate with their vectors: passages of one cluster share a topic. */
export function wordedRows({ traits = () => ({}), ...options }: TestCorpusOptions): ArtifactRow[] {
  const random = seededRandom(options.seed + 1)
  return testRows({
    ...options,
    traits(n, cluster): PassageTraits {
      const common = Array.from({ length: 20 }, () => wordOf('common', Math.floor(random() ** 2 * COMMON_WORDS)))
      const text = [ownWord(n), questionOn(cluster, random), ...common].join(' ')
      return { text: `${text}.`, heading: wordOf('heading', Math.floor(n / 10)), ...traits(n, cluster) }
    },
  })
}
