import { expect, test } from 'vitest'
import { PREDICTORS, predictorOf, type Predictor } from '#core/domain/predictors.ts'
import { questionOn, seededRandom, wordedRows } from '#test/support/passages.ts'
import { openCorpus } from '#test/support/fixtures.ts'

/** Of a version without vectors, from a fixed seed. */
const corpus = await openCorpus({
  rows: wordedRows({ rows: 200, dimensions: 8, seed: 3, clusters: 10 }),
  embedding: null,
})

const TOPIC = questionOn(3, seededRandom(5))

test.each<[string, string, Partial<Record<Predictor, number>>]>([
  [
    'of a topic',
    TOPIC,
    {
      document_share: 0.006911565855921287,
      document_agreement: 0.1908635994170029,
      content_share: 1,
      mean_idf: 0.6905630374431472,
      idf_deviation: 0.04462811994601741,
      first_length: 3.332204510175204,
      first_coverage: 0.5959996554813836,
      words_best: 0.1681685180769159,
      grams_best: 0.16182552608877998,
      grams_mass: 0.2566487563101324,
    },
  ],
  [
    'of words that no passage holds',
    'zyzzyva qwertz',
    {
      document_share: -0.06983126650631101,
      content_share: 1,
      mean_idf: 1.1307009860033912,
      words_best: -0.39004496704471936,
      grams_best: -0.5084624167982612,
      grams_mass: -0.41068727799571747,
    },
  ],
])('predictors of words alone keep their values for a question %s', async (_, text, expected) => {
  const { predictors } = await corpus.ask({ text })
  for (const name of PREDICTORS) expect(predictorOf(predictors, name), name).toBeCloseTo(expected[name] ?? 0, 12)
})
