import fc from 'fast-check'
import { expect, test } from 'vitest'
import { html, styleSheet } from '#jobs/platform/page/markup.ts'
import { figure, milliseconds, percent, range, signed, whole } from '#jobs/evaluation/page/numbers.ts'

test('whatever text is filled in, it opens no tag, closes no attribute and reads back as it was', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'<>&"\'ax;#/ ') }), (text) => {
      const { source } = html`<p title="${text}">${text}</p>`
      const [, attribute = '', content = ''] = /^<p title="([^"<>']*)">([^"<>']*)<\/p>$/.exec(source) ?? []
      const read = (escaped: string): string =>
        escaped
          .replaceAll('&lt;', '<')
          .replaceAll('&gt;', '>')
          .replaceAll('&quot;', '"')
          .replaceAll('&#39;', "'")
          .replaceAll('&amp;', '&')
      expect([read(attribute), read(content)]).toEqual([text, text])
    }),
  )
})

test('markup within markup is escaped once, lists are joined', () => {
  const items = ['a & b', 'c'].map((item) => html`<li>${item}</li>`)
  expect(html`${items}`.source).toBe('<li>a &amp; b</li><li>c</li>')
})

test('a style sheet that could end its element is refused', () => {
  expect(styleSheet('p { color: red }').source).toContain('color: red')
  expect(() => styleSheet('p { } </style>')).toThrow('must not contain')
})

test('numbers are written with true minus signs, without negative zeros, and with a dash where there is none', () => {
  expect([figure(-0.0001), figure(-0.25), figure(null), figure(1)]).toEqual(['0.000', '−0.250', '–', '1.000'])
  expect([signed(0.0312), signed(-0.0312), signed(0.0001), signed(-0.0001)]).toEqual([
    '+0.031',
    '−0.031',
    '0.000',
    '0.000',
  ])
  expect([percent(0.0525), percent(null), range([0.1, 0.25])]).toEqual(['5.3 %', '–', '0.100 – 0.250'])
  expect([whole(999), whole(1_000), whole(13_732), whole(1_000_000), whole(52.3)]).toEqual([
    '999',
    '1\u202f000',
    '13\u202f732',
    '1\u202f000\u202f000',
    '52.3',
  ])
  expect([milliseconds(6.412), milliseconds(14.37)]).toEqual(['6.41 ms', '14.4 ms'])
})
