import { deepStrictEqual } from 'node:assert'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { analyze, analyzeQuestion, primaryLanguage } from '#core/index/analysis/analyzer.ts'
import { openForwardReader, type ForwardReader } from '#core/index/lexical/forward-reader.ts'
import { createForwardWriter } from '#core/index/lexical/forward-writer.ts'
import { openLexicalReader, type LexicalReader } from '#core/index/lexical/reader.ts'
import { LEXICAL_PARAMETERS, createLexicalWriter } from '#core/index/lexical/writer.ts'
import type { LexicalFiles, LexicalTerms } from '#core/index/lexical/writer.ts'
import { createResidentParts, type ResidentParts } from '#core/index/storage/resident-parts.ts'
import { canonicalJson } from '#core/platform/digest.ts'
import { prepareLexical, type LexicalQuery } from '#search-node/search/candidates/words/query.ts'
import { questionOf } from '#search-node/search/question.ts'
import type { Question } from '#search-node/search/interfaces.ts'

export interface Passage {
  readonly language: string
  readonly heading: string
  readonly text: string
}

function indexed(corpus: readonly Passage[]): LexicalFiles {
  const writer = createLexicalWriter(corpus.length)
  for (const [row, { language, heading, text }] of corpus.entries())
    writer.add(row, { language, heading: analyze(heading, language), text: analyze(text, language) })
  return writer.finish()
}

/** A version whose files are kept in memory, and one whose files are read from the page cache. */
function bothParts(): readonly [ResidentParts, ResidentParts] {
  return [createResidentParts(), createResidentParts(new Map(), 0)]
}

/** Writes the index of a corpus to a folder and uses it from memory and from the page cache; then removes it. */
export function withIndex(corpus: readonly Passage[], use: (index: LexicalReader, folder: string) => void): void {
  using stack = new DisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'evidence-lexical-'))
  stack.defer(() => rmSync(folder, { recursive: true }))
  writeIndex(folder, indexed(corpus))
  const opened = bothParts().map((parts) =>
    stack.adopt(openLexicalReader(folder, corpus.length, parts), (index) => index.close()),
  )
  for (const index of opened) use(index, folder)
}

export function writeIndex(folder: string, { description, terms, postings }: LexicalFiles): void {
  writeFileSync(join(folder, 'lexical.json'), JSON.stringify(description))
  writeFileSync(join(folder, 'lexical.terms'), terms)
  writeFileSync(join(folder, 'lexical.postings'), Buffer.concat([...postings]))
}

/** Frequency of a word in a row, weighted and normalised by length as in BM25F, from the texts alone. */
function naiveFrequencies(corpus: readonly Passage[]): (word: string) => number[] {
  const rows = corpus.map(({ language, heading, text }) => ({
    language,
    heading: analyze(heading, language),
    text: analyze(text, language),
  }))
  const names = ['heading', 'text'] as const
  const average = { heading: 0, text: 0 }
  for (const name of names) average[name] = rows.reduce((sum, row) => sum + row[name].length, 0) / rows.length
  return (word) => {
    const terms = new Map(rows.map(({ language }) => [language, '']))
    for (const language of terms.keys()) terms.set(language, analyze(word, language)[0] ?? '')
    return rows.map((row) => {
      const term = terms.get(row.language)
      let frequency = 0
      for (const name of names) {
        const { weight, b } = LEXICAL_PARAMETERS.fields[name]
        const times = row[name].filter((other) => other === term).length
        if (times > 0) frequency += (weight * times) / (1 - b + (b * row[name].length) / average[name])
      }
      return frequency
    })
  }
}

/** BM25 of every row in floating point, without index and rounding, and without its constant factor k1 + 1. */
export function naiveScores(corpus: readonly Passage[], asked: readonly string[]): number[] {
  const { k1 } = LEXICAL_PARAMETERS
  const frequencies = naiveFrequencies(corpus)
  const scores = corpus.map(() => 0)
  for (const word of asked) {
    const found = frequencies(word)
    const holding = found.filter((frequency) => frequency > 0).length
    const idf = Math.log(1 + (corpus.length - holding + 0.5) / (holding + 0.5))
    for (const [row, frequency] of found.entries())
      scores[row] = (scores[row] ?? 0) + (idf * frequency) / (k1 + frequency)
  }
  return scores
}

/** Every row's score in integers, as the index would give it, by comparing words. */
export function naiveSums(corpus: readonly Passage[], { groups }: LexicalQuery): Uint32Array {
  const { k1 } = LEXICAL_PARAMETERS
  const frequencies = naiveFrequencies(corpus)
  const sums = new Uint32Array(corpus.length)
  for (const { word, weight } of groups) {
    for (const [row, frequency] of frequencies(word).entries())
      if (frequency > 0)
        sums[row] = (sums[row] ?? 0) + weight * Math.max(1, Math.round((255 * frequency) / (k1 + frequency)))
  }
  return sums
}

export function bitsOf(rows: number, allowed: (row: number) => boolean): Uint32Array {
  const bits = new Uint32Array(Math.ceil(rows / 32))
  for (let row = 0; row < rows; row++) if (allowed(row)) bits[row >>> 5] = (bits[row >>> 5] ?? 0) | (1 << (row & 31))
  return bits
}

/** A permutation of the rows that is not their order. */
export function ranksOf(rows: number): Uint32Array {
  const order = Array.from({ length: rows }, (_, row) => ({ row, key: Math.imul(row + 1, 0x9e37_79b1) >>> 0 }))
  const ranks = new Uint32Array(rows)
  for (const [rank, { row }] of order.sort((a, b) => a.key - b.key).entries()) ranks[row] = rank
  return ranks
}

/** Ties by `ranks`. */
export function bestOf(
  sums: Uint32Array,
  allowed: (row: number) => boolean,
  wanted: number,
  ranks: Uint32Array,
): [row: number, score: number][] {
  return Array.from(sums, (sum, row): [number, number] => [row, sum])
    .filter(([row, sum]) => sum > 0 && allowed(row))
    .sort(([rowA, a], [rowB, b]) => b - a || (ranks[rowA] ?? 0) - (ranks[rowB] ?? 0))
    .slice(0, wanted)
}

export interface ForwardPassage extends Passage {
  /** Whether the row before is of the same revision. */
  readonly sameRevisionAsPrevious: boolean
}

/**
 * A passage without a heading, in a language that has no stemmer and no function words; first of its revision unless
 * said otherwise.
 */
export function said(text: string, change: Partial<ForwardPassage> = {}): ForwardPassage {
  return { language: 'xx', heading: '', text, sameRevisionAsPrevious: false, ...change }
}

export function termsOf({ language, heading, text }: Passage): LexicalTerms {
  return { language, heading: analyze(heading, language), text: analyze(text, language) }
}

function writeForward(folder: string, corpus: readonly ForwardPassage[]): void {
  const writer = createForwardWriter(corpus.length)
  const tokens = corpus.map((passage) => writer.add(termsOf(passage), passage.sameRevisionAsPrevious))
  const { description, offsets, pairs } = writer.finish()
  writeFileSync(join(folder, 'forward.json'), canonicalJson(description))
  writeFileSync(join(folder, 'forward.tokens'), Buffer.concat(tokens))
  writeFileSync(join(folder, 'forward.offsets'), offsets)
  writeFileSync(join(folder, 'forward.pairs'), pairs)
}

export interface Opened {
  readonly forward: ForwardReader
  /** Asked in all languages of the corpus unless others are given. */
  readonly ask: (text: string, languages?: readonly string[]) => Question
}

/**
 * Writes what rescoring needs of a corpus, and uses it from memory and from the page cache; then removes it.
 * @returns what `use` returns of both, which is equal.
 */
export function withForward<Result>(
  corpus: readonly ForwardPassage[],
  use: (opened: Opened, folder: string) => Result,
): Result {
  using stack = new DisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'evidence-forward-'))
  stack.defer(() => rmSync(folder, { recursive: true }))
  writeForward(folder, corpus)
  const [memory, pageCache] = bothParts()
  const open = (parts: ResidentParts): ForwardReader =>
    stack.adopt(openForwardReader(folder, corpus.length, parts), (forward) => forward.close())
  const opened = [open(memory), open(pageCache)] as const
  let known: LexicalReader | undefined
  const lexical = (): LexicalReader => (known ??= stack.adopt(lexicalOf(corpus, folder), (reader) => reader.close()))
  const held = [...new Set(corpus.map(({ language }) => primaryLanguage(language)))].sort()
  const used = (forward: ForwardReader): Result => {
    const ask: Opened['ask'] = (text, languages = held) => {
      const asked = analyzeQuestion(text, held)
      return questionOf(asked, languages, prepareLexical(lexical(), asked.words).groups, forward)
    }
    return use({ forward, ask }, folder)
  }
  const [fromMemory, fromPageCache] = [used(opened[0]), used(opened[1])]
  deepStrictEqual(fromPageCache, fromMemory)
  return fromMemory
}

function lexicalOf(corpus: readonly Passage[], folder: string): LexicalReader {
  writeIndex(folder, indexed(corpus))
  return openLexicalReader(folder, corpus.length, createResidentParts())
}

const WORDS = ['anchor', 'ballast', 'cargo', 'dredge', 'embargo', 'ferries', 'the', '33(1)', 'Hafen', 'und'] as const

/** Few words, so that they repeat. */
export const anyText = fc.array(fc.constantFrom(...WORDS), { maxLength: 14 }).map((words) => words.join(' '))

export const anyCorpus: fc.Arbitrary<readonly ForwardPassage[]> = fc.array(
  fc.record({
    language: fc.constantFrom('en', 'de-AT', 'xx'),
    heading: anyText,
    text: anyText,
    sameRevisionAsPrevious: fc.boolean(),
  }),
  { minLength: 1, maxLength: 9 },
)
