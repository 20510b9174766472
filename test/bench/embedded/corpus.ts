import { createLocalEmbedder, embedText } from '#core/embedding/local/embedder.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { ACTS, inventedPassages } from '../corpus.ts'
import type { CorpusShape } from '../corpus.ts'
import { repeated } from '../source.ts'
import type { BenchCorpus } from '../source.ts'
import { streamAt } from '../stream.ts'
import { inventedQuestion } from '../text.ts'

/** The generated texts with the vectors that the local embedder gives them and the questions. */
export function embeddedCorpus(shape: CorpusShape): BenchCorpus {
  const { space } = createLocalEmbedder()
  return {
    parameters: ['embedded', space.model, String(shape.passages), String(shape.seed)],
    passages: shape.passages,
    dimensions: space.dimensions,
    space,
    acts: ACTS,
    *rows() {
      for (const passage of inventedPassages(shape)) {
        let made: PassageRecord | undefined
        const record = (): PassageRecord => (made ??= passage.record())
        yield {
          ...passage,
          record,
          vector: () => embedText(`${record().heading}\n${record().text}`),
          question(number) {
            const random = streamAt(shape.seed, 'queries', passage.row, number)
            const text = inventedQuestion(passage.language, record().text, random)
            return { text, vector: embedText(text) }
          },
        }
      }
    },
    questions: ({ count, set }, sampled) => repeated(sampled, count, set),
  }
}
