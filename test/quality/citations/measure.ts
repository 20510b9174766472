import { CORPORA, readActs, readSentences } from './judgements.ts'
import type { Part, Sentence } from './judgements.ts'
import { createVocabulary, NO_SCORE, scoreSentence, sumOf } from './score.ts'
import type { Score } from './score.ts'
import { readTexts } from './texts.ts'

export interface Measured {
  readonly corpus: Sentence['corpus']
  readonly sentences: number
  readonly score: Score
}

/** Reads the judged sentences in the corpora and scores the parser on them, corpus by corpus. */
export function measureCitations(folder: string, part: Part | undefined): readonly Measured[] {
  const sentences = readSentences(part)
  const acts = readActs()
  return CORPORA.map((corpus) => {
    const own = sentences.filter((sentence) => sentence.corpus === corpus)
    const texts = readTexts(folder, corpus, new Set(own.map(({ id }) => id)))
    const vocabulary = createVocabulary(acts[corpus] ?? [])
    const scores = own.map((sentence) => scoreSentence(sentence, textOf(texts, sentence), vocabulary))
    return { corpus, sentences: own.length, score: scores.reduce(sumOf, NO_SCORE) }
  })
}

export function totalOf(measured: readonly Measured[]): Score {
  return measured.map(({ score }) => score).reduce(sumOf, NO_SCORE)
}

function textOf(texts: ReadonlyMap<string, string>, { corpus, id }: Sentence): string {
  const text = texts.get(id)
  if (text === undefined) throw new Error(`The corpus ${corpus} has no record ${id}: it is another edition.`)
  return text
}
