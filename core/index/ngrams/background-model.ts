import { MEMORY_TEXTS_MAX, analyze, primaryLanguage } from '#core/index/analysis/analyzer.ts'
import { ngramHashes } from '#core/index/analysis/ngrams.ts'
import { indexWords } from '#core/index/analysis/index-words.ts'
import type { ForwardReader } from '#core/index/lexical/forward-reader.ts'
import { inverseFrequency } from '#core/index/lexical/idf.ts'
import { CHUNK_ROWS, chunkBytes } from '#core/index/lexical/layout.ts'
import type { LexicalReader } from '#core/index/lexical/reader.ts'
import { tokenHash } from '#core/index/lexical/token-hash.ts'
import type { PassagesReader } from '#core/index/passages/reader.ts'
import type { RowTable } from '#core/index/passages/row-table.ts'
import { createTopK } from '#core/index/top-k.ts'
import { memoized } from '#core/platform/memoized.ts'
import { mulberry32 } from '#core/platform/seeded-random.ts'
import { COVERING_PASSAGES, DOCUMENT_CANDIDATES, coverageOf, ngramQuestion, heldNgrams } from './coverage.ts'
import type { Coverage } from './coverage.ts'
import type { BackgroundModel } from './layout.ts'
import { ngramWords, textOf, type NgramsReader } from './reader.ts'

/** What of a version its background model is measured on. */
export interface BackgroundIndex extends Pick<PassagesReader, 'passage'> {
  readonly passages: number
  readonly rows: Pick<RowTable, 'documents' | 'provisions'>
  readonly lexical: LexicalReader
  readonly forward: ForwardReader
  readonly ngrams: Pick<NgramsReader, 'rows' | 'frequency'>
}

/** In a smaller version, every passage that is withheld changes what words are rare. */
const PASSAGES_MIN = 8
/** Passages whose words the questions are drawn from. */
const POOL_MAX = 256
/** Of each of both kinds. */
const QUESTIONS = 200
/** Words of the shortest and the longest question. */
const WORDS = [4, 30] as const
/** With fewer documents, the passage of a question is withheld, not its document. */
const WITHHELD_DOCUMENTS_MIN = 4
/** A passage that holds so much of the withheld one's n-grams is a copy of it, and is withheld with it. */
const COPY_NGRAMS_MIN = 0.8
/** A copy holds at least so much of the question. */
const COPY_WORDS_MIN = 0.5
/** Candidates among which copies are looked for. */
const COPIES_MAX = 8 * DOCUMENT_CANDIDATES
/** Means over eight collections of ten passages each, in three languages. */
export const DEFAULT_BACKGROUND_MODEL: BackgroundModel = {
  questions: 0,
  information: [1.335, 5.721],
  words_best: { intercept: 0.837, slope: -0.115 },
  grams_best: { intercept: 0.752, slope: -0.083 },
  grams_mass: { intercept: 0.59, slope: -0.074 },
  document_share: { intercept: 0.584, slope: -0.074 },
}

/**
 * Measures what the first passages hold of questions that no passage answers, so that a decision means the same in
 * every version. The questions are of words of the version, drawn with a fixed seed: half of them of one passage each,
 * whose document and copies are withheld, as of a topic that the corpus lacks; half of any passages, as of no topic.
 * Their coverage falls with the information of a question, and a line is fitted to it.
 */
export function measureBackgroundModel(index: BackgroundIndex): BackgroundModel {
  if (index.passages < PASSAGES_MIN) return DEFAULT_BACKGROUND_MODEL
  const random = mulberry32(index.passages)
  const pool = Array.from({ length: Math.min(POOL_MAX, index.passages) }, (_, at) => {
    const row = index.passages <= POOL_MAX ? at : Math.floor(random() * index.passages)
    const { heading, text, metadata } = index.passage(row)
    return { row, language: metadata.language, words: indexWords(`${heading}\n${text}`) }
  }).filter(({ words }) => words.length > 0)
  const pick = <T>(items: readonly T[]): T | undefined => items[Math.floor(random() * items.length)]
  const draw = (from: Pooled | undefined): Drawn => ({
    word: pick(from?.words ?? []) ?? '',
    language: from?.language ?? '',
  })
  const searcher = createSearcher(index)
  const measured: Measured[] = []
  for (let at = 0; at < 2 * QUESTIONS; at++) {
    const count = Math.round(WORDS[0] * (WORDS[1] / WORDS[0]) ** random())
    const one = at % 2 === 0 ? pick(pool) : undefined
    const words = Array.from({ length: count }, () => draw(one ?? pick(pool)))
    measured.push(searcher(words, one?.row))
  }
  return backgroundModelOf(measured)
}

interface Pooled {
  readonly row: number
  readonly language: string
  readonly words: readonly string[]
}

interface Drawn {
  readonly word: string
  readonly language: string
}

interface Measured {
  readonly information: number
  readonly coverage: Coverage
}

/** @returns a function from a question and the row of its passage, if it has one, to its coverage. */
function createSearcher(index: BackgroundIndex): (words: readonly Drawn[], withheld: number | undefined) => Measured {
  const { documents, provisions } = index.rows
  const ofText = memoized((text) => Int32Array.from(new Set(ngramHashes(ngramWords(text)))), MEMORY_TEXTS_MAX)
  const ofRow = memoized((row) => ofText(textOf(index.passage(Number(row)))), MEMORY_TEXTS_MAX)
  const ngramsOf = (row: number): Int32Array => ofRow(String(row))
  const byDocument = new Set(documents).size >= WITHHELD_DOCUMENTS_MIN
  const isCopy = (own: ReadonlySet<number>, row: number, terms: readonly Term[]): boolean => {
    if (heldTerms(terms, index.forward.read(row, row).words(row)) < COPY_WORDS_MIN) return false
    return ngramsOf(row).reduce((held, hash) => held + Number(own.has(hash)), 0) >= COPY_NGRAMS_MIN * own.size
  }
  const withoutCopies = (best: Uint32Array, own: ReadonlySet<number>, terms: readonly Term[]): Uint32Array => {
    const others: number[] = []
    for (const row of best) {
      if (others.length === DOCUMENT_CANDIDATES) break
      if (!isCopy(own, row, terms)) others.push(row)
    }
    return Uint32Array.from(others)
  }
  return (words, withheld) => {
    const terms = termsOf(index, words)
    const isWithheld = (row: number): boolean =>
      withheld !== undefined && (byDocument ? documents[row] === documents[withheld] : row === withheld)
    const best = candidatesOf(index, terms, isWithheld, withheld === undefined ? DOCUMENT_CANDIDATES : COPIES_MAX)
    const candidates = withheld === undefined ? best : withoutCopies(best, new Set(ngramsOf(withheld)), terms)
    const rows = firstRows(candidates, provisions)
    const inFirst = candidates.filter((row) => documents[row] === documents[candidates[0] ?? 0]).length
    const question = ngramQuestion(
      words.map(({ word }) => word),
      index.ngrams,
    )
    return {
      information: question.information,
      coverage: coverageOf(
        rows.map((row) => heldTerms(terms, index.forward.read(row, row).words(row))),
        rows.map((row) => heldNgrams(question, ngramsOf(row))),
        inFirst / Math.max(1, candidates.length),
      ),
    }
  }
}

interface Term {
  readonly hash: number
  readonly idf: number
  readonly language: string
  readonly term: string
}

function termsOf({ lexical, passages }: BackgroundIndex, words: readonly Drawn[]): readonly Term[] {
  const terms = new Map<number, Term>()
  for (const { word, language } of words) {
    const primary = primaryLanguage(language)
    for (const term of analyze(word, language)) {
      const hash = tokenHash(primary, term)
      const frequency = lexical.find(primary, term)?.frequency ?? 0
      terms.set(hash, { hash, language: primary, term, idf: inverseFrequency(frequency, passages) })
    }
  }
  return [...terms.values()]
}

/** The first rows by BM25; ties in row order. */
function candidatesOf(
  { lexical, passages }: BackgroundIndex,
  terms: readonly Term[],
  isWithheld: (row: number) => boolean,
  count: number,
): Uint32Array {
  const scores = new Float64Array(passages)
  const bytes = new Uint8Array(chunkBytes(CHUNK_ROWS))
  const rows = new Uint16Array(bytes.buffer)
  for (const { language, term, idf } of terms) {
    const entry = lexical.find(language, term)
    if (entry === undefined) continue
    const list = lexical.list(entry)
    for (let chunk = 0; chunk * CHUNK_ROWS < passages; chunk++) {
      if (list.seek(chunk) === 0) continue
      list.read(bytes)
      for (let at = 0; at < list.count; at++) {
        const row = chunk * CHUNK_ROWS + (rows[at] ?? 0)
        scores[row] = (scores[row] ?? 0) + idf * (bytes[list.count * 2 + at] ?? 0)
      }
    }
  }
  const best = createTopK(count)
  for (let row = 0; row < passages; row++) {
    const score = scores[row] ?? 0
    if (score > 0 && !isWithheld(row)) best.offer(row, score)
  }
  return best.sorted().ids
}

/** The first row of each of the first provisions. */
function firstRows(candidates: Uint32Array, provisions: Uint32Array): readonly number[] {
  const found = new Map<number, number>()
  for (const row of candidates) if (!found.has(provisions[row] ?? 0)) found.set(provisions[row] ?? 0, row)
  return [...found.values()].slice(0, COVERING_PASSAGES)
}

function heldTerms(terms: readonly Term[], words: Uint32Array): number {
  const held = new Set(words)
  let [said, total] = [0, 0]
  for (const { hash, idf } of terms) {
    total += idf
    if (held.has(hash)) said += idf
  }
  return total === 0 ? 0 : said / total
}

/** Fits a line over ln(information) to each figure by least squares. */
function backgroundModelOf(measured: readonly Measured[]): BackgroundModel {
  const at = measured.map(({ information }) => Math.log(Math.max(1, information)))
  const mean = meanOf(at)
  const spread = at.reduce((sum, x) => sum + (x - mean) ** 2, 0)
  const lineOf = (name: keyof Coverage): BackgroundModel[keyof Coverage] => {
    const values = measured.map(({ coverage }) => coverage[name])
    const level = meanOf(values)
    const slope = spread === 0 ? 0 : values.reduce((sum, y, i) => sum + ((at[i] ?? 0) - mean) * (y - level), 0) / spread
    return { intercept: rounded(level - slope * mean), slope: rounded(slope) }
  }
  return {
    questions: measured.length,
    information: [rounded(Math.min(...at)), rounded(Math.max(...at))],
    words_best: lineOf('words_best'),
    grams_best: lineOf('grams_best'),
    grams_mass: lineOf('grams_mass'),
    document_share: lineOf('document_share'),
  }
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Logarithms differ between machines in their last digits. */
function rounded(value: number): number {
  return Number(value.toPrecision(6))
}
