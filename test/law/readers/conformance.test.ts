import { describe, expect, test } from 'vitest'
import { shareOf } from '#law/readers/coverage.ts'
import { readDocument, type ReadDocument } from '#law/readers/read.ts'
import { docxOf, paragraph } from './files.ts'
import { SAMPLES } from './samples.ts'

/** What a text has beside the texts of its file: marks that a format leaves out. */
function withoutMarks({
  text = '',
  pieces,
}: {
  readonly text?: string | undefined
  readonly pieces: ReadDocument['provisions'][number]['pieces']
}): string {
  return pieces.map(({ at, length }) => text.slice(at, at + length)).join(' ')
}

function kindsOf({ provisions }: ReadDocument): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { kind } of provisions) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

describe.each(SAMPLES)('a reader of $name', ({ format, bytes, kinds, title, from, passages, cited }) => {
  test('recognises its format by content, whatever the name', async () => {
    expect((await readDocument('a-file', bytes)).format).toBe(format)
  })

  test('says title and dates, and counts provisions without those that are quoted', async () => {
    const read = await readDocument('a-file', bytes)
    expect(read.fields.title).toBe(title)
    expect(read.fields.effectiveFrom?.day).toBe(from)
    expect(kindsOf(read)).toMatchObject(kinds)
  })

  test('gives readable passages: lists, tables, notes, quoted and repealed provisions', async () => {
    const read = await readDocument('a-file', bytes)
    const texts = read.provisions.map(({ text }) => text)
    expect(texts).toEqual(expect.arrayContaining([...passages]))
    const labels = read.provisions.filter(({ text }) => text !== undefined).map((each) => read.cite(each).label)
    expect(labels).toEqual(expect.arrayContaining([...cited]))
  })

  test('leaves no character out: each lies in one passage or one named omission', async () => {
    const { coverage } = await readDocument('a-file', bytes)
    expect(coverage.characters).toBeGreaterThan(10)
    expect(coverage.remainder).toEqual([])
    expect(shareOf(coverage)).toBe(1)
  })

  test('knows where each stretch of a passage stands in the texts of the file', async () => {
    const { provisions, tree } = await readDocument('a-file', bytes)
    const whole = tree.texts.map(({ value }) => value).join('')
    for (const provision of provisions) {
      const found = provision.pieces.map((piece) => whole.slice(piece.from, piece.to).replaceAll(/\s+/g, ' ')).join(' ')
      expect(found).toBe(withoutMarks(provision))
    }
  })
})

test('a Word document is read whatever its main part is called', async () => {
  const { fields } = await readDocument('a-file', docxOf(paragraph('Order', 'H1'), {}, 'document2'))
  expect(fields.title).toBe('Order')
})
