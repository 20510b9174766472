import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createForwardWriter } from '#core/index/lexical/forward-writer.ts'
import { forwardSchema, pairSlot } from '#core/index/lexical/forward-layout.ts'
import { tokenHash } from '#core/index/lexical/token-hash.ts'

interface Row {
  readonly heading: readonly string[]
  readonly text: readonly string[]
  readonly sameRevisionAsPrevious: boolean
}

function written(rows: readonly Row[]) {
  const writer = createForwardWriter(rows.length)
  const tokens = Buffer.concat(
    rows.map(({ heading, text, sameRevisionAsPrevious }) =>
      writer.add({ language: 'en-GB', heading, text }, sameRevisionAsPrevious),
    ),
  )
  const { description, offsets, pairs } = writer.finish()
  return { description, tokens: uint32s(tokens), offsets: uint32s(offsets), pairs: uint32s(pairs) }
}

function uint32s(bytes: Uint8Array): Uint32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Uint32Array.from({ length: bytes.length / 4 }, (_, at) => view.getUint32(at * 4, true))
}

const row = (text: string, sameRevisionAsPrevious = false, heading = ''): Row => ({
  heading: heading.split(' ').filter(Boolean),
  text: text.split(' '),
  sameRevisionAsPrevious,
})
const hashed = (...terms: readonly string[]): number[] => terms.map((term) => tokenHash('en', term))

describe('the words of a row', () => {
  test('are the number of its heading’s words and a hash of every word in order, under the primary language', () => {
    const { tokens, offsets, description } = written([row('cargo fee', false, 'harbour fee'), row('ballast')])
    expect([...tokens]).toEqual([2, ...hashed('harbour', 'fee', 'cargo', 'fee'), 0, ...hashed('ballast')])
    expect([...offsets]).toEqual([0, 5, 7])
    expect(description).toMatchObject({ rows: 2, uint32s: 7, mean_length: 2.5, pair_bits: 12 })
    expect(forwardSchema.parse(description)).toEqual(description)
  })

  test('are hashed by FNV-1a over language and term, so that a term of another language is another word', () => {
    fc.assert(
      fc.property(fc.constantFrom('en', 'de', 'fr'), fc.string({ unit: 'grapheme' }), (language, term) => {
        let hash = 0x811c9dc5n
        for (const unit of `${language}:${term}`.split(''))
          hash = ((hash ^ BigInt(unit.charCodeAt(0))) * 0x01000193n) & 0xffffffffn
        expect(tokenHash(language, term)).toBe(Number(hash))
      }),
    )
    expect(tokenHash('en', 'fee')).not.toBe(tokenHash('de', 'fee'))
  })
})

describe('the mean lengths', () => {
  test('agree with a scan of each row’s neighbours', () => {
    const anyRow = fc.record({
      heading: fc.array(fc.constant('h'), { maxLength: 3 }),
      text: fc.array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: 5 }),
      sameRevisionAsPrevious: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(anyRow, { minLength: 1, maxLength: 12 }), ([first, ...others]) => {
        const rows = [{ heading: [], text: ['a'], ...first, sameRevisionAsPrevious: false }, ...others]
        let revision = 0
        const revisions = rows.map(({ sameRevisionAsPrevious }) => (sameRevisionAsPrevious ? revision : ++revision))
        const meanAt = (distance: number): number => {
          const sums = rows.map((_, at) =>
            [at - distance, at + distance].reduce(
              (sum, other) => sum + (revisions[other] === revisions[at] ? (rows[other]?.text.length ?? 0) : 0),
              0,
            ),
          )
          return sums.reduce((sum, each) => sum + each, 0) / rows.length
        }
        expect(written(rows).description).toMatchObject({ mean_beside: meanAt(1), mean_near: meanAt(2) })
      }),
    )
  })
})

describe('pairs of words', () => {
  test('count the rows that hold them side by side and in order, once a row, across the end of the heading', () => {
    const { pairs, description } = written([
      row('fee cargo fee cargo', false, 'harbour'),
      row('cargo fee'),
      row('harbour cargo'),
    ])
    const rowsWith = (first: string, second: string): number | undefined => {
      const [one = 0, other = 0] = hashed(first, second)
      return pairs[pairSlot(one, other, description.pair_bits)]
    }
    expect([
      rowsWith('fee', 'cargo'),
      rowsWith('cargo', 'fee'),
      rowsWith('harbour', 'fee'),
      rowsWith('harbour', 'cargo'),
    ]).toEqual([1, 2, 1, 1])
    expect([rowsWith('fee', 'harbour'), rowsWith('fee', 'fee')]).toEqual([0, 0])
  })

  test('have sixteen slots a row, between 2^12 and 2^24', () => {
    expect([1, 256, 257, 5_000].map((rows) => createForwardWriter(rows).finish().description.pair_bits)).toEqual([
      12, 12, 13, 17,
    ])
  })

  test('fall into a slot of the table, spread evenly', () => {
    const slots = new Map<number, number>()
    for (let n = 0; n < 4_000; n++) {
      const slot = pairSlot(tokenHash('en', `w${n}`), tokenHash('en', `w${n + 1}`), 4)
      slots.set(slot, (slots.get(slot) ?? 0) + 1)
    }
    expect([...slots.keys()].sort((a, b) => a - b)).toEqual(Array.from({ length: 16 }, (_, slot) => slot))
    expect(Math.max(...slots.values())).toBeLessThan(350)
  })
})

test('the same rows give the same bytes', () => {
  const rows = [row('cargo fee', false, 'harbour'), row('ballast fee', true)]
  expect(written(rows)).toEqual(written(rows))
})
