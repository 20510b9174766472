import { createActAliases, referencesIn, type ActAliases, type ExplicitReference } from '#law/citations/parser.ts'
import { CORPORA, readActs, readSentences, readTexts, type Part, type Sentence } from './judgements.ts'

/** Names of the acts of a corpus, and their ids. */
export interface Vocabulary {
  readonly aliases: ActAliases
  readonly held: ReadonlySet<string>
}

export interface Score {
  readonly right: number
  readonly found: number
  readonly expected: number
  /** What was read and is none, with its act. */
  readonly wrong: readonly string[]
  /** What was judged a reference and was not read. */
  readonly missed: readonly string[]
}

const NO_SCORE: Score = { right: 0, found: 0, expected: 0, wrong: [], missed: [] }

export function createVocabulary(
  acts: readonly { readonly id: string; readonly aliases: readonly string[] }[],
): Vocabulary {
  return {
    aliases: createActAliases(acts.flatMap(({ id, aliases }) => [id, ...aliases].map((name) => [name, id] as const))),
    held: new Set(acts.map(({ id }) => id)),
  }
}

/**
 * Compares what is read in a sentence with its judgement. A reference is right if it covers the judged range, with all
 * parts of the provision, and has its act. What the judgement leaves open counts neither way.
 * @param text of the whole record.
 */
export function scoreSentence(sentence: Sentence, text: string, { aliases, held }: Vocabulary): Score {
  const certain = referencesIn(text.slice(sentence.start, sentence.end), aliases).certain
  const left = [...sentence.references]
  const wrong: string[] = []
  let right = 0
  for (const reference of certain) {
    const at = left.findIndex(
      (labelled) => covers(reference, labelled, sentence.start) && isAct(reference, labelled, held),
    )
    if (at >= 0) {
      left.splice(at, 1)
      right += 1
    } else if (!isOpen(reference, sentence)) wrong.push(`${reference.text} → ${reference.reference.act ?? 'any act'}`)
  }
  return {
    right,
    found: right + wrong.length,
    expected: sentence.references.length,
    wrong,
    missed: left.map(({ start, end, act }) => `${text.slice(start, end)} → ${act ?? 'any act'}`),
  }
}

function sumOf(a: Score, b: Score): Score {
  return {
    right: a.right + b.right,
    found: a.found + b.found,
    expected: a.expected + b.expected,
    wrong: [...a.wrong, ...b.wrong],
    missed: [...a.missed, ...b.missed],
  }
}

function covers({ start, end }: ExplicitReference, labelled: Sentence['references'][number], offset: number): boolean {
  return offset + start <= labelled.start && offset + end >= labelled.end
}

function isAct(
  { reference }: ExplicitReference,
  { act }: Sentence['references'][number],
  held: ReadonlySet<string>,
): boolean {
  if (act === 'named') return reference.act !== undefined && !held.has(reference.act)
  return (reference.act ?? null) === act
}

function isOpen({ start, end }: ExplicitReference, sentence: Sentence): boolean {
  const [from, to] = [sentence.start + start, sentence.start + end]
  return sentence.open.some((range) => from < range.end && to > range.start)
}

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
    const scores = own.map((sentence) => {
      const text = texts.get(sentence.id)
      if (text === undefined)
        throw new Error(`The corpus ${corpus} has no record ${sentence.id}: it is another edition.`)
      return scoreSentence(sentence, text, vocabulary)
    })
    return { corpus, sentences: own.length, score: scores.reduce(sumOf, NO_SCORE) }
  })
}

export function totalOf(measured: readonly Measured[]): Score {
  return measured.map(({ score }) => score).reduce(sumOf, NO_SCORE)
}
