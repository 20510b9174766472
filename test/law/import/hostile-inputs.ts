/** Returns text of exactly `length` UTF-16 units that repeats a unit, well-formed at its end. */
function repeated(unit: string, length: number): string {
  return unit
    .repeat(Math.ceil(length / unit.length))
    .slice(0, length)
    .toWellFormed()
}

/** Units of Markdown that made parsers superlinear: brackets, emphasis, nested blocks, definitions, open constructs. */
const MARKDOWN_UNITS = [
  '# a\n|# a\n\nb\n\n|a\n=\n|a\n-\n|a\n|# a {#b}\n|{#|{#a} |#|# ',
  '[|[\n|]|[a](|[a](b|![|[](|[a|(|*|* |a*b |_|_ |`|~',
  '<|<a |<!--|<![CDATA[|<?|<div>\n|<div>\n\n|<pre>\n|<!--\n\n|<pre>\n# a\n|&|&amp;|\\|\\\n',
  '>|> |>\n|> a\n|> ```\n|- > |- |-|- a\n|- a\n\n|-\n|+ - * |1. |1. a\n|* * * a\n',
  '<!-- a -->|<!-- a -->\n|<div>\n<!-- a\n|<div>\n<!-- a\n\n-->|- <!-- a\n\n|> <!-- a\n\n|-->\n|\u0301\u0316|`<!--',
  '```\n|```a\n|~~~\n```\n|[a]: b\n|[a]: b "\n|[a]: b\n"\n|[a]: b\n(\n|[a\n|[a]: b\n\n',
  ' |   \n|\t|\tx\n|\r|\r\n|\n| \r\n|a  \n|    a\n|    a\n\n|---\n|---\n\n',
]
  .flatMap((units) => units.split('|'))
  .concat('| a |\n|-|\n')

/** Units of prose: sentence ends, abbreviations, enumerations, citations, scripts without spaces, marks. */
const PROSE_UNITS = [
  'word |a|.|. |A b. |Art. |?" |"\n|a:\n\n|(a)\n|(a) b\n\n|1.1.|ivx|1|1,000.5 ',
  '法律。|ก|กา|ا|가|क्|\u0301|\u00A0|\u2028|🇩🇪|👩\u200D|é|\uFEFF|\0|1-|1/|__',
  'Article |Article 5 |Article 5 of the |§ 1 |§§ |Abs. 1 |section 5(a) |Regulation (EU) |COB 2.1.',
  "12 CFR |Regulation (EU) 2016/679 |l'article L. 1-1 du code |point (a) of |Schedule 1 |Modifié par ",
].flatMap((units) => units.split('|'))

type Input = readonly [name: string, text: (length: number) => string]

/** Shapes that a repeated unit does not make: something before or after the repetition, or growing lines. */
const SHAPES: readonly Input[] = [
  ['# , spaces, carriage return', (length) => `# ${repeated(' ', length)}\r`],
  ['# , spaces, a word', (length) => `# a${repeated(' ', length)}b`],
  ['# , spaces, an open anchor', (length) => `# a${repeated(' ', length)}{#a`],
  ['a number, dashes, a word', (length) => `# 1${repeated('-', length)}a`],
  ['one long setext heading', (length) => `${repeated('a\n', length)}===\n`],
  ['one long heading above many', (length) => `# ${repeated('a', length / 2)}\n${repeated('## b\nc\n', length / 2)}`],
  ['quotes, then lazy lines', (length) => `${repeated('>', length / 2)}${repeated('\na', length / 2)}`],
  ['quotes that grow', (length) => growing(length, (depth) => '>'.repeat(depth))],
  ['lists that grow', (length) => growing(length, (depth) => `${' '.repeat(2 * depth)}- a`)],
  ['code spans that grow', (length) => growing(length, (depth) => '`'.repeat(depth))],
  ['comments in code spans that grow', (length) => growing(length, (depth) => `${'`'.repeat(depth)}<!--`)],
  ['HTML, then comments', (length) => `<div>\n${repeated('<!-- a\n\n--> <!-- b\n', length)}-->`],
  ['comments in one heading', (length) => `# ${repeated('<!-- a -->', length)}`],
  ['an open fence', (length) => `\`\`\`\n${repeated('a\n', length)}`],
  ['a list item, then blank lines', (length) => `- a\n${repeated('\n', length)}b`],
  ['code, then blank lines', (length) => `    a\n${repeated('\n', length)}b`],
  ['brackets that close at the end', (length) => repeated('[', length / 2) + repeated(']', length / 2)],
  ['definitions with names of their own', (length) => growing(length, (depth) => `[a${depth}]: b`)],
]

const PROSE_SHAPES: readonly Input[] = [
  ['a break, spaces, a word', (length) => `\n${repeated(' ', length)}x`],
  ['blank lines of 900 spaces', (length) => repeated(`\n${' '.repeat(900)}`, length)],
  ['a list of numbers', (length) => `Article ${repeated('1, ', length)}`],
  ['a chain of ranges', (length) => `Articles ${repeated('1 to ', length)}`],
  ['a chain of parts', (length) => `12 CFR 1003.2${repeated('(g)', length)}`],
]

function growing(length: number, line: (depth: number) => string): string {
  let text = ''
  for (let depth = 0; text.length < length; depth += 1) text += `${line(depth)}\n`
  return text.slice(0, length)
}

const units = (list: readonly string[]): readonly Input[] =>
  list.map((unit) => [JSON.stringify(unit), (length) => repeated(unit, length)])

/** Markdown that costs a parser much more than its length, by what it repeats. */
export const MARKDOWN: readonly Input[] = [...units(MARKDOWN_UNITS), ...SHAPES]

/** Prose and citations that cost a pattern much more than their length. */
export const PROSE: readonly Input[] = [...units(PROSE_UNITS), ...PROSE_SHAPES]

/** YAML that nests, refers and repeats. */
export const YAML: readonly Input[] = [
  ...units(['|\n', ...'[¦{a: ¦- ¦? ¦a: ¦"¦\'¦# a\n¦&a ¦*a ¦!!¦%¦ ¦\t¦: ¦a\n¦, '.split('¦')]),
  ['many keys', (length) => growing(length, (depth) => `k${depth}: v`)],
  ['many anchors', (length) => growing(length, (depth) => `k${depth}: &a${depth} v`)],
  ['many aliases', (length) => `a: &a v\n${growing(length, (depth) => `k${depth}: *a`)}`],
  ['a list of lists', (length) => `a: [${repeated('[],', length)}]`],
  ['a long scalar', (length) => `a: ${repeated('b ', length)}`],
  ['a folded scalar', (length) => `a: >\n${repeated('  b\n\n', length)}`],
]
