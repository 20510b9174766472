import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { sha256 } from '#core/platform/digest.ts'
import { statedMapping } from '#law/import/corpus/corpus-mapping.ts'
import { parseSourceYaml } from '#law/import/corpus/source-yaml.ts'
import { createPlaceReader, isOwnText } from '#law/import/parts/text-at.ts'
import { SAMPLES, SAMPLE_SOURCE_YAML } from '#test/law/readers/samples.ts'
import { folderWith } from '#test/support/folder.ts'
import { importContents, importFiles } from '#test/support/import.ts'
import { beeRules } from '#test/support/markdown-source.ts'

async function imported(contents: Readonly<Record<string, string | Uint8Array>>, yaml: string = SAMPLE_SOURCE_YAML) {
  return await importContents(contents, statedMapping(parseSourceYaml(yaml)))
}

describe.each(SAMPLES)('an import of $name', ({ format, bytes, passages: expected }) => {
  test('makes each provision a verified passage that is found again at its place, and loses nothing', async () => {
    const path = join(folderWith({ [format]: bytes }), format)
    const { passages, report } = await importFiles([path], statedMapping(parseSourceYaml(SAMPLE_SOURCE_YAML)))
    using reader = createPlaceReader()
    for (const { text, selector, metadata } of passages) {
      expect(metadata.verification_status).toBe('verified')
      expect(isOwnText(text, selector, (await reader.textAt(path, selector)) ?? '')).toBe(true)
      expect(isOwnText(`${text}!`, selector, (await reader.textAt(path, selector)) ?? '')).toBe(false)
    }
    expect(passages.map(({ text }) => text)).toEqual(expect.arrayContaining([...expected]))
    expect(new Set(passages.map(({ citation }) => citation.label)).size).toBe(passages.length)
    expect(report.losses).toEqual([])
    expect(report.coverage).toMatchObject({ uncovered: 0, remainder: [] })
    expect(report.coverage.characters).toBeGreaterThan(10)
  })
})

const PAGE =
  '<!doctype html><html lang="en"><head><title>Bees</title></head><body><h1>Bees</h1><p>Keep bees.</p></body>'

test('a file without a provision is warned of', async () => {
  const { passages, report } = await imported({ 'a.html': PAGE, 'b.html': '<!doctype html><html><body></body></html>' })
  expect(passages).toHaveLength(1)
  expect(report.warnings.entries).toMatchObject([
    { source: 'b.html', message: 'the file holds no text of a provision' },
  ])
})

test('what source.yaml states of a file comes before the file, and what it states of the folder after it', async () => {
  const yaml = `${SAMPLE_SOURCE_YAML}\nfiles:\n  b.html:\n    title: Hives\n    effective_at: 2021-05-06\n`
  const { passages, report } = await imported({ 'a.html': PAGE, 'b.html': PAGE.replace('Keep', 'Count') }, yaml)
  const shown = passages.map(({ document, in_force_from }) => [document.title, in_force_from, document.canonical_url])
  expect(shown).toEqual([
    ['Bees', '2020-02-01', 'https://law.example/a.html'],
    ['Hives', '2021-05-06', 'https://law.example/b.html'],
  ])
  expect(report.derived_values).toMatchObject({ 'effective_at: stated in source.yaml': 2 })
})

test('text of the document itself is cited by its title alone, which source.yaml may shorten', async () => {
  const title = `Resolution on ${'samples and '.repeat(50)}tests`
  const page = `<!doctype html><html lang="en"><head><title>${title}</title></head><body><p>Text.</p></body></html>`
  const labels = async (yaml: string): Promise<readonly string[]> =>
    (await imported({ 'a.html': page }, yaml)).passages.map(({ citation }) => citation.label)
  expect(await labels(SAMPLE_SOURCE_YAML)).toEqual([title.slice(0, 160).trim()])
  expect(await labels(`${SAMPLE_SOURCE_YAML}\nfiles:\n  a.html:\n    title: Resolution 5\n`)).toEqual(['Resolution 5'])
})

test('text below a heading that is the title is cited by it once', async () => {
  const { passages } = await imported({
    'a.html': PAGE.replace('<p>', '<h2>Wasps</h2><p>No wasps.</p><h1>Bees</h1><p>'),
  })
  expect(passages.map(({ citation }) => citation.label)).toEqual(['Bees, Wasps', 'Bees'])
})

test('texts of one act that its publisher names by their days are revisions of one document', async () => {
  const act = (day: string, text: string) => {
    const days = `<FRBRdate date="${day}" name="jolux:dateApplicability"/><FRBRdate date="2014-09-22" name="jolux:dateDocument"/>`
    const uri = `https://fedlex.data.admin.ch/eli/cc/2014/522/${day.replaceAll('-', '')}`
    const identification = `<FRBRWork><FRBRuri value="${uri}"/>${days}</FRBRWork><FRBRExpression>${days}</FRBRExpression>`
    const article = `<article eId="art_1"><num>Art. 1</num><paragraph><content><p>${text}</p></content></paragraph></article>`
    return `<akomaNtoso><act><meta><identification>${identification}</identification></meta><preface><docTitle>Bees</docTitle></preface><body>${article}</body></act></akomaNtoso>`
  }
  const { passages } = await imported({
    '1.xml': act('2017-03-01', 'Keep bees.'),
    '2.xml': act('2020-01-01', 'Count bees.'),
  })
  const served = passages.filter(({ text }) => text.endsWith('bees.'))
  expect(served.map(({ in_force_from, in_force_to }) => [in_force_from, in_force_to])).toEqual([
    ['2017-03-01', '2020-01-01'],
    ['2020-01-01', null],
  ])
  expect(new Set(served.map(({ document }) => document.id)).size).toBe(1)
  expect(served.map(({ document }) => document.canonical_url.slice(-8))).toEqual(['20170301', '20200101'])
})

test('a field that neither the file nor source.yaml states is named, and nothing is invented', async () => {
  const { passages, report } = await imported({ 'a.html': PAGE }, 'language: en\n')
  expect(passages).toEqual([])
  expect(report.reasons).toEqual({ 'authority, canonical_url, published_at, effective_at, jurisdiction missing': 1 })
})

test('a file that is not read is one loss with its line, and accepting it imports the rest', async () => {
  const files = { 'a.html': PAGE, 'b.xml': '<akomaNtoso>\n<act>\n</akomaNtoso>' }
  const refused = await imported(files)
  expect(refused.report.losses).toMatchObject([{ name: 'b.xml:3', accepted: false }])
  const accepted = await imported(files, `${SAMPLE_SOURCE_YAML}\naccepted_losses: ['b.xml:3']\n`)
  expect(accepted.report.losses_unnamed).toBe(0)
  expect(accepted.passages).toHaveLength(1)
})

test('what no vocabulary has is one loss for all files, accepted by its name with its count', async () => {
  const page = (number: number): string =>
    `<!doctype html><html lang="en"><body><h1>Bees ${number}</h1><h2>Section 1</h2><p><odd>Bees</odd> are <del>sold</del> kept.</p></body></html>`
  const files = { 'a.html': page(1), 'b.html': page(2) }
  const refused = await imported(files)
  expect(refused.report.losses).toMatchObject([{ name: 'html element odd (2)', source: 'a.html', accepted: false }])
  const accepted = await imported(files, `${SAMPLE_SOURCE_YAML}\naccepted_losses: ['html element odd (2)']\n`)
  expect(accepted.report.losses_unnamed).toBe(0)
  expect(accepted.passages.map(({ text }) => text)).toEqual(['Bees are kept.', 'Bees are kept.'])
  expect(accepted.report.omissions).toMatchObject([
    { source: 'a.html', rule: 'struck or deleted text', text: 'sold' },
    { source: 'b.html', rule: 'struck or deleted text', text: 'sold' },
  ])
})

test('a draft takes the place of its original only where it is one of it and gives records', async () => {
  const files = { 'a.html': PAGE, 'a.html.draft.md': '# Notes of the editor\n\nTo do.\n' }
  const { passages, report } = await imported(files)
  expect(passages.map(({ text }) => text)).toEqual(['Keep bees.'])
  expect(report.losses).toMatchObject([
    { name: 'a.html.draft.md:1', reason: expect.stringContaining('a draft without') },
  ])
})

const ACT = `<akomaNtoso xmlns="http://docs.oasis-open.org/legaldocml/ns/akn/3.0"><act><meta><identification><FRBRWork><FRBRuri value="/akn/xx/act/2001/1"/><FRBRalias value="Bee Act"/></FRBRWork><FRBRExpression><FRBRdate date="2020-01-01" name="valid"/></FRBRExpression></identification><lifecycle><eventRef date="2021-06-01" type="repeal"/></lifecycle></meta><body><section eId="s1"><num>1</num><content><p>Bees pay.</p></content></section></body></act></akomaNtoso>`

test('a provision ends on its own day, or on that of the act if it is the first, says which, and keeps its place', async () => {
  const second = '<section eId="s2" start="2020-01-01" end="2020-09-01"><num>2</num><content><p>Ants pay.</p></content>'
  const { passages } = await imported({ 'a.xml': ACT.replace('</body>', `${second}</section></body>`) })
  const own = 'day on which the text of the provision ends or changes, as the file states it'
  expect(passages.map(({ in_force_to, ordinal, lineage }) => [in_force_to, ordinal, lineage['effective_to']])).toEqual([
    ['2021-06-01', 0, undefined],
    ['2020-09-01', 1, own],
  ])
})

test('words of a draft that its original does not have are listed, and no captured text verifies them', async () => {
  const body = '## BEE-M 1.1 Keep\n\nKeep bees.\n\n## BEE-M 1.2 Sell\n\nSell honey.\n'
  const original_sha256 = sha256(PAGE).toString('hex')
  const draft = beeRules(body, { citation_prefix: 'BEE-M', original: 'a.html', original_sha256 })
  const { passages, report } = await imported({ 'a.html': PAGE, 'a.html.draft.md': draft })
  expect(passages.map(({ text, metadata }) => [text, metadata.verification_status])).toEqual([
    ['Keep bees.', 'verified'],
    ['Sell honey.', 'source-declared'],
  ])
  expect(report.warnings.entries.map(({ message }) => message)).toEqual([
    'words that the original does not have, the editor\'s: "Sell honey."',
  ])
})

test('a day of the editor against one of the publisher is a loss with both', async () => {
  const yaml = `${SAMPLE_SOURCE_YAML}\nfiles:\n  a.xml: { effective_to: '2099-12-31' }\n`
  const name = 'a.xml: effective_to 2099-12-31 of the editor, 2021-06-01 of the publisher (1)'
  expect((await imported({ 'a.xml': ACT }, yaml)).report.losses).toMatchObject([{ name, accepted: false }])
  expect((await imported({ 'a.xml': ACT }, `${yaml}accepted_losses: ["${name}"]\n`)).report.losses_unnamed).toBe(0)
})

test('Markdown beside other formats needs no field that source.yaml states', async () => {
  const page = beeRules('## BEE-M 1.1 Title\n\nBees are kept.\n', { citation_prefix: 'BEE-M' })
  const short = page.split('\n').filter((line) => !/^(?:authority|language|jurisdiction|verification)/.test(line))
  const { passages, report } = await imported({ 'a.md': short.join('\n'), 'b.html': PAGE })
  expect(report.losses).toEqual([])
  expect(passages[0]).toMatchObject({
    citation: { label: 'BEE-M 1.1' },
    document: { authority: 'Sample Office' },
    metadata: { jurisdiction: 'ZZ', verification_status: 'verified' },
  })
})

test('a field of foreign front matter that may state an end refuses the import', async () => {
  const page = '---\nlayout: page\nvalid_until: 2020-01-01\n---\n# Title\n\nBees are kept.\n\n## Wasps\n\nNo wasps.\n'
  const named = /a\.md:5 title: "valid_until" may state an end or a status[^\n]*, and 1 more like it\n/
  await expect(imported({ 'a.md': page })).rejects.toThrow(named)
  const { passages } = await imported({ 'a.md': page }, `${SAMPLE_SOURCE_YAML}\nignored_fields: [valid_until]\n`)
  expect(passages).toHaveLength(2)
})

test('headings with the same words are cited with those around them; a provision that repeats refuses', async () => {
  const twice = '# Law\n\n## Part 1\n\n### Scope\n\nBees.\n\n## Part 2\n\n### Scope\n\nWasps.\n'
  const { passages } = await imported({ 'a.md': twice })
  expect(passages.map(({ citation }) => citation.label)).toEqual(['Law, Part 1, Scope', 'Law, Part 2, Scope'])
  const sections = '# Law\n\n## § 1 Scope\n\nBees.\n\n## § 1 Scope\n\nWasps.\n'
  await expect(imported({ 'a.md': sections })).rejects.toThrow(/have one citation at one time, but different texts/)
})

test.each([
  ['authorty: X', 'source.yaml, line 1: authorty: Unrecognized key: "authorty"'],
  ['language: en\nrevises: all', 'source.yaml, line 2: revises: Invalid option'],
  ['a: [', 'source.yaml, line 1: not valid YAML'],
])('a source.yaml that is not understood is refused with its line: %j', (yaml, sentence) => {
  expect(() => parseSourceYaml(yaml)).toThrow(sentence)
})

test('headings that are used again are told apart by those around them, after the name of the act', async () => {
  const titles = ['CHAPTER 1', 'SECTION 1', 'CHAPTER 2', 'SECTION 1']
  const lines = titles.map(
    (text) => `<p class="oj-ti-section-1">${text}</p>${text.startsWith('S') ? '<p>Text.</p>' : ''}`,
  )
  const page = `<!doctype html><html><head></head><body><p class="oj-doc-ti">Regulation (EU) 2024/1</p><p class="oj-doc-ti">on bees</p>${lines.join('')}</body></html>`
  expect((await imported({ 'a.html': page })).passages.map(({ citation }) => citation.label)).toEqual([
    'Regulation (EU) 2024/1, CHAPTER 1, SECTION 1',
    'Regulation (EU) 2024/1, CHAPTER 2, SECTION 1',
  ])
})
