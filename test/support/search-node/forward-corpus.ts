import { deepStrictEqual } from 'node:assert'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { createForwardWriter } from '#core/index/lexical/forward-writer.ts'
import type { ForwardDescription } from '#core/index/lexical/forward-layout.ts'
import type { LexicalTerms } from '#core/index/lexical/writer.ts'
import { canonicalJson } from '#core/platform/digest.ts'
import { analyze, analyzeQuestion, primaryLanguage } from '#core/index/analysis/analyzer.ts'
import { openForwardReader } from '#core/index/lexical/forward-reader.ts'
import type { ForwardReader } from '#core/index/lexical/forward-reader.ts'
import { openLexicalReader } from '#core/index/lexical/reader.ts'
import type { LexicalReader } from '#core/index/lexical/reader.ts'
import type { ResidentParts } from '#core/index/storage/resident-parts.ts'
import { createResidentParts } from '#core/index/storage/resident-parts.ts'
import { prepareLexical } from '#search-node/search/candidates/words/query.ts'
import { questionOf } from '#search-node/search/question.ts'
import type { Question } from '#search-node/search/question.ts'
import { bothParts, indexed, writeIndex } from './lexical-corpus.ts'
import type { Passage } from './lexical-corpus.ts'

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

export interface WrittenForward {
  readonly description: ForwardDescription
  readonly tokens: Buffer
  readonly offsets: Uint8Array
  readonly pairs: Uint8Array
}

export function writtenForward(corpus: readonly ForwardPassage[]): WrittenForward {
  const writer = createForwardWriter(corpus.length)
  const tokens = Buffer.concat(corpus.map((passage) => writer.add(termsOf(passage), passage.sameRevisionAsPrevious)))
  return { tokens, ...writer.finish() }
}

function writeForward(folder: string, { description, tokens, offsets, pairs }: WrittenForward): void {
  writeFileSync(join(folder, 'forward.json'), canonicalJson(description))
  writeFileSync(join(folder, 'forward.tokens'), tokens)
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
  writeForward(folder, writtenForward(corpus))
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
