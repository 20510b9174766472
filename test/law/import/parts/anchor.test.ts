import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sourceAnchor } from '#law/import/parts/anchor.ts'
import { importContents, importLines, line, smallMapping } from '#test/support/import.ts'

const URL_ = 'https://law.example/bees'

describe('a source anchor', () => {
  test("is the publisher's own fragment where there is one", () => {
    expect(sourceAnchor(URL_, 'art_33', 'Any text at all.', 1)).toBe(`${URL_}#art_33`)
    expect(sourceAnchor(URL_, 'p-1003.2(g)', 'Any text at all.', 1)).toBe(`${URL_}#p-1003.2(g)`)
    expect(sourceAnchor(URL_, 'a b"é', 'Any text at all.', 1)).toBe(`${URL_}#a%20b%22%C3%A9`)
  })

  test('else is a text fragment of the first words, with hyphen, comma and ampersand encoded', () => {
    expect(
      sourceAnchor(
        URL_,
        undefined,
        'A bee-keeper, and her heirs & tenants, registers every hive before the first of May.',
        1,
      ),
    ).toBe(`${URL_}#:~:text=A%20bee%2Dkeeper%2C%20and%20her%20heirs%20%26%20tenants%2C%20registers%20every%20hive`)
  })

  test('passes over the number of a clause and the marks of Markdown', () => {
    expect(sourceAnchor(URL_, undefined, '(a)\nthe keeper of bees;\n(b)\nno one else.', 1)).toBe(
      `${URL_}#:~:text=the%20keeper%20of%20bees%3B`,
    )
    expect(sourceAnchor(URL_, undefined, '- the **keeper** of [all bees](https://x.example)', 1)).toBe(
      `${URL_}#:~:text=the%20keeper%20of%20all%20bees`,
    )
    expect(sourceAnchor(URL_, undefined, '1.\nAddress;', 1)).toBe(`${URL_}#:~:text=Address%3B`)
  })

  test('of a later part leads to the part', () => {
    expect(sourceAnchor(URL_, 'art_3', 'the second part starts here', 2)).toBe(
      `${URL_}#art_3:~:text=the%20second%20part%20starts%20here`,
    )
  })

  test('holds, after the directive, nothing but what the text-directive grammar allows', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }), (text) => {
        const anchor = sourceAnchor(URL_, undefined, text, 1)
        expect(anchor.slice(`${URL_}#:~:text=`.length)).toMatch(/^(?:[A-Za-z0-9!$'()*+./:;=?@_~]|%[0-9A-F]{2})*$/)
        expect(URL.canParse(anchor)).toBe(true)
      }),
    )
  })

  test.each([
    ['zh', '養蜂人應當在五月一日之前向主管機關登記其所有的蜂箱，並應當每年更新登記。'],
    ['th', 'ผู้เลี้ยงผึ้งต้องลงทะเบียนรังผึ้งทุกรังก่อนวันที่หนึ่งพฤษภาคมของทุกปี'],
    ['ja', '養蜂家はすべての巣箱を五月一日までに登録しなければならない。'],
  ])('of an unspaced line in %s is shortened to whole words, and its passage is kept', async (language, sentence) => {
    const text = sentence.repeat(8)
    const contents = { 'corpus.jsonl': line('a', text, { lang: language }) }
    const { passages } = await importContents(contents, smallMapping())
    const words = decodeURIComponent(passages[0]?.citation.source_anchor.split(':~:text=')[1] ?? '')
    expect(passages[0]?.text).toBe(text)
    expect(words.length).toBeGreaterThan(20)
    expect(text.startsWith(words)).toBe(true)
    const ends = [...new Intl.Segmenter(language, { granularity: 'word' }).segment(text)].map(
      ({ segment, index }) => index + segment.length,
    )
    expect(ends).toContain(words.length)
  })

  test('of one word beyond the bound ends within it', () => {
    const anchor = sourceAnchor(URL_, undefined, 'x'.repeat(5_000), 1)
    expect(anchor).toMatch(/#:~:text=x{100,600}$/)
  })

  test('is canonical_url plus one fragment, also where the mapped URL came with its own', async () => {
    const { passages } = await importLines(
      line('a', 'A hive is a house of bees.'),
      smallMapping({ canonical_url: 'https://law.example/{metadata.act}#sec-{metadata.section}' }),
    )
    expect(passages[0]?.document.canonical_url).toBe('https://law.example/Bees')
    expect(passages[0]?.citation.source_anchor).toBe('https://law.example/Bees#sec-1')
  })
})
