import { otherText, spelledOtherwise, type Alteration, type Expectation } from './alteration.ts'
import { headingAndText } from './markdown-file.ts'
import { ofMarkdown } from './markdown-target.ts'

const RESPELLED = ofMarkdown('spellings', 'repeats a heading in another spelling', (target, draw) => {
  const [heading, text] = headingAndText(target.provision)
  const [, number = '', title = '', anchor = ''] = /^### (\S+ [\d.]+)(.*?)((?: \{#.*\})?)$/.exec(heading) ?? []
  const spelled = draw.chance(0.3) ? { key: number, how: 'as written' } : spelledOtherwise(number, draw)
  if (number === '' || spelled === undefined) return undefined
  const fresh = draw.chance(0.5) ? ` {#${draw.marker()}}` : anchor
  const copy = `### ${spelled.key}${title}${fresh}\n\n${otherText(text, draw)}\n\n`
  const provisions = target.file.provisions.toSpliced(draw.below(target.file.provisions.length + 1), 0, copy)
  return target.rewritten({ ...target.file, provisions }, `"${number}" again ${spelled.how}`)
})

type Construct = readonly [name: string, write: (heading: string, text: string, marker: string) => string]

/** Headings that a parser may not take for one. The text below is cited by their number. */
const ODD_HEADINGS: readonly Construct[] = [
  ['a heading without a space', (heading, text, marker) => `###${heading.slice(4)}\n\n${text} ${marker}.\n`],
  ['an indented heading', (heading, text, marker) => ` ${heading}\n\n${text} ${marker}.\n`],
  ['a heading indented by four', (heading, text, marker) => `    ${heading}\n\n${text} ${marker}.\n`],
  ['a bold heading', (heading, text, marker) => `**${heading.slice(4)}**\n\n${text} ${marker}.\n`],
]

/** Blocks that end a provision or begin another. */
const BLOCKS: readonly Construct[] = [
  [
    'text before a sub-heading',
    (heading, text, marker) => `${heading}\n\nA firm must never lend ${marker}.\n\n#### Exception\n\n${text}\n`,
  ],
  [
    'a sub-heading',
    (heading, text, marker) => `${heading}\n\n${text}\n\n#### Exception\n\nThis does not apply ${marker}.\n`,
  ],
  [
    'a setext heading',
    (heading, text, marker) => `${heading}\n\n${text}\n\n(a) must never lend ${marker}, or\n---\n\nnothing else.\n`,
  ],
  [
    'an item above equals signs',
    (heading, text, marker) => `${heading}\n\n${text}\n\n(a) must never lend ${marker}, or\n===\n`,
  ],
  ['a quotation', (heading, text, marker) => `${heading}\n\n${text}\n\n> A firm must never lend ${marker}.\n`],
]

/** What a page shows in another place, or not at all. */
const BESIDE: readonly Construct[] = [
  ['code', (heading, text, marker) => `${heading}\n\n${text}\n\n\`\`\`\nA firm must never lend ${marker}.\n\`\`\`\n`],
  ['a comment', (heading, text, marker) => `${heading}\n\n${text}\n\n<!-- A firm must never lend ${marker}. -->\n`],
  ['HTML', (heading, text, marker) => `${heading}\n\n${text}\n\n<div>A firm must never lend ${marker}.</div>\n`],
  [
    'a table',
    (heading, text, marker) =>
      `${heading}\n\n${text}\n\n| Firm | Rule |\n| --- | --- |\n| all | never lend ${marker} |\n`,
  ],
  [
    'a definition',
    (heading, text, marker) => `${heading}\n\n${text}\n\n[${marker}]: https://rules.example/never "never lend"\n`,
  ],
  ['a footnote', (heading, text, marker) => `${heading}\n\n${text}[^1]\n\n[^1]: This does not apply ${marker}.\n`],
  ['an image', (heading, text, marker) => `${heading}\n\n${text}\n\n![A firm must never lend ${marker}](rule.png)\n`],
]

function constructs(name: string, all: readonly Construct[], isCited: boolean): Alteration {
  return ofMarkdown('constructs', name, (target, draw) => {
    const [heading, text] = headingAndText(target.provision)
    const marker = draw.marker()
    const [construct, write] = draw.pick(all)
    const provision = `${write(heading, text, marker)}\n`
    const number = /^### \S+ ([\d.]+)/.exec(heading)?.[1]
    const kept: Expectation = { kind: 'kept', fragment: marker }
    const expect: Expectation[] =
      isCited && number !== undefined ? [kept, { kind: 'cited', fragment: marker, label: number }] : [kept]
    const what = `${construct} at provision ${target.at}`
    return target.replaced(provision, what, expect)
  })
}

const HEADING = constructs('writes a heading in another way', ODD_HEADINGS, true)
const BLOCK = constructs('writes law in another block', BLOCKS, false)
const ASIDE = constructs('writes law beside the text', BESIDE, false)

const BEFORE_UNDERLINED = ['', '<a id="lending"></a>\n', '<!-- -->', '- a firm\n', '1. a firm\n', '> a firm\n'] as const
const UNDERLINES = [
  '===',
  '=',
  '---',
  '--',
  '  ===',
  '    ===',
  '\t---',
  '\uFF1D\uFF1D\uFF1D',
  '<!-- -->\n===',
] as const

const UNDERLINED = ofMarkdown('constructs', 'underlines a heading or a line of law', (target, draw) => {
  const [heading, text] = headingAndText(target.provision)
  const marker = draw.marker()
  const [, prefix = '', number = ''] = /^### (\S+) ([\d.]+)/.exec(heading) ?? []
  const label = `${number}7`
  const isHeading = number !== '' && draw.chance(0.5)
  const line = isHeading ? `${prefix} ${label} Lending` : `A firm must never lend ${marker}`
  const below = isHeading ? `A firm must never lend ${marker}.` : draw.pick(['', 'Nothing else applies.'])
  const written = `${draw.pick(BEFORE_UNDERLINED)}${line}\n${draw.pick(UNDERLINES)}\n\n${below}`
  const [first, exception] = [draw.pick([text, '']), draw.pick(['', '\n\n#### Exception\n\nIt may lend to the Bank.'])]
  const provision = `${heading}\n\n${first}\n\n${written}${exception}\n\n`
  const expect: Expectation[] = isHeading
    ? [
        { kind: 'kept', fragment: marker },
        { kind: 'cited', fragment: marker, label },
      ]
    : [{ kind: 'served', fragment: marker }]
  return target.replaced(provision, JSON.stringify(written), expect)
})

const NUMBERS: readonly ((number: string) => readonly [written: string, cited: string])[] = [
  (number) => [number.replaceAll('.', String.raw`\.`), number],
  (number) => [`${number} bis`, `${number} bis`],
  (number) => [`${number}(2)`, `${number} 2`],
  (number) => [`${number} (2)`, `${number} 2`],
  (number) => [`${number}a`, `${number}a`],
  (number) => [`${number}.A`, `${number} a`],
  (number) => [`*${number}*`, number],
  (number) => [number.replaceAll('.', '&#46;'), number],
]

const NUMBER = ofMarkdown('constructs', 'numbers a provision in another way', (target, draw) => {
  const [heading] = headingAndText(target.provision)
  const [, prefix = '', number = '', rest = ''] = /^### (\S+) ([\d.]+)(.*)$/.exec(heading) ?? []
  if (number === '') return undefined
  const [written, cited] = draw.pick(NUMBERS)(`${number}7`)
  const marker = draw.marker()
  const added = `### ${prefix} ${written} ${rest.replace(/\{#.*\}/, '')}\n\nA firm must never lend ${marker}.\n\n`
  const provisions = target.file.provisions.toSpliced(target.at, 0, added)
  const expect: Expectation[] = [
    { kind: 'kept', fragment: marker },
    { kind: 'cited', fragment: marker, label: cited },
  ]
  return target.rewritten({ ...target.file, provisions }, `heading "${prefix} ${written}"`, expect)
})

const CUT = ofMarkdown('lead-ins', 'writes a list that is longer than a passage', (target, draw) => {
  const [heading] = headingAndText(target.provision)
  const [leadIn, items] = [draw.marker(), Array.from({ length: 30 }, () => draw.marker())]
  const style = draw.pick([
    (at: number) => `(${String.fromCodePoint(97 + (at % 26))}${at > 25 ? 'a' : ''})`,
    (at: number) => `${at + 1}.`,
    () => '-',
  ])
  const list = items.map(
    (item, at) =>
      `${style(at)} lends to a person whose ${item} ${'is held by another firm of the group and '.repeat(6)}ends.`,
  )
  const text = `A firm is prohibited from each practice ${leadIn} by which it:\n\n${list.join('\n\n')}\n`
  const provision = `${heading}\n\n${text}\n`
  const expect: Expectation[] = [{ kind: 'led', items, leadIn }]
  return target.replaced(provision, `list ${style(0)} at provision ${target.at}`, expect)
})

const UNSPACED = ofMarkdown('unspaced lines', 'writes a line without spaces', (target, draw) => {
  const sign = draw.pick(['\u4e00', '\u4e2d', '\u0e01', '\u0e2b', '\u3042', 'x'])
  const line = Array.from({ length: 180 + draw.below(300) }, (_, at) =>
    String.fromCodePoint((sign.codePointAt(0) ?? 0) + (at % 19)),
  ).join('')
  const [heading] = headingAndText(target.provision)
  const fragment = line.slice(60, 100)
  const provision = draw.chance(0.5) ? `${heading}\n\n${line}\n\n` : `${heading.replace(/ \{#.*\}/, '')}\n\n${line}\n\n`
  return target.replaced(provision, `a line of ${line.length} ${sign}`, [{ kind: 'kept', fragment }])
})

/** Alterations of the text of a file. */
export const TEXT_ALTERATIONS: readonly Alteration[] = [
  RESPELLED,
  HEADING,
  UNDERLINED,
  BLOCK,
  ASIDE,
  NUMBER,
  CUT,
  UNSPACED,
]
