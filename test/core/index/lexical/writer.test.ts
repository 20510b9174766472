import fc from 'fast-check'
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { createLexicalWriter, type LexicalFiles } from '#core/index/lexical/writer.ts'
import { analyze } from '#core/index/analysis/analyzer.ts'
import { lexicalTermsLayout } from '#core/index/lexical/layout.ts'

interface Passage {
  readonly language: string
  readonly heading: string
  readonly text: string
}

const CORPUS: readonly Passage[] = [
  {
    language: 'en',
    heading: 'Chapter 1',
    text: 'An authorised person must notify the regulator under Rule 6.5.2(a)(ii).',
  },
  { language: 'de', heading: '§ 433', text: 'Durch den Kaufvertrag wird der Verkäufer verpflichtet.' },
  { language: 'fr', heading: '', text: 'Tout fait quelconque de l’homme, 個人データ 𝔸𠮷.' },
]

function written(corpus: readonly Passage[]): LexicalFiles {
  const writer = createLexicalWriter(corpus.length)
  for (const [row, { language, heading, text }] of corpus.entries())
    writer.add(row, { language, heading: analyze(heading, language), text: analyze(text, language) })
  return writer.finish()
}

function digest({ description, terms, postings }: LexicalFiles): string {
  const hash = createHash('sha256').update(JSON.stringify(description)).update(terms)
  for (const piece of postings) hash.update(piece)
  return hash.digest('hex')
}

test('the same rows give the same bytes, on every machine', () => {
  expect(digest(written(CORPUS))).toBe(digest(written(CORPUS)))
  expect(digest(written(CORPUS))).toMatchInlineSnapshot(
    `"693a6a0337318ed22245c8ec48a05e37f53695fc574a1528b65fd89c16879211"`,
  )
})

test('sizes are what the description says', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ language: fc.constantFrom('en', 'de'), heading: fc.string(), text: fc.lorem() }), {
        minLength: 1,
        maxLength: 30,
      }),
      (corpus) => {
        const { description, terms, postings } = written(corpus)
        expect(terms).toHaveLength(lexicalTermsLayout(description).bytes)
        expect([...postings].reduce((sum, piece) => sum + piece.length, 0)).toBe(description.postings_bytes)
      },
    ),
  )
})

test('rows without any word give an index without terms', () => {
  const { description, postings } = written([{ language: 'en', heading: '', text: '…' }])
  expect(description).toMatchObject({ terms: 0, postings: 0, postings_bytes: 0 })
  expect([...postings].every(({ length }) => length === 0)).toBe(true)
})

test('rows out of turn, too many or too few are refused', () => {
  const first = { language: 'en', heading: [], text: ['client'] }
  expect(() => createLexicalWriter(2).add(1, first)).toThrow('after 0 of 2')
  const full = createLexicalWriter(1)
  full.add(0, first)
  expect(() => full.add(1, first)).toThrow('after 1 of 1')
  expect(() => createLexicalWriter(1).finish()).toThrow('0 came')
})
