import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { mappingOf } from '#law/import/corpus/corpus-mapping.ts'
import { proposeSource } from '#law/import/corpus/propose-source.ts'
import { parseSourceYaml } from '#law/import/corpus/source-yaml.ts'
import { listSource } from '#law/sources/list.ts'
import { folderWith } from '#test/support/folder.ts'
import { importSnapshots, line } from '#test/support/import.ts'

/** Passages of a folder with the proposal in it, once the missing fields are filled in. */
async function importedWith(folder: string, yaml: string): Promise<number> {
  await writeFile(join(folder, 'source.yaml'), yaml)
  const mapping = await mappingOf(folder)
  const { files } = await listSource(folder, mapping.format)
  const snapshots = files.map((file) => ({ ...file, id: '0b0f2c52-5a3a-4d0e-8f3c-1f0a35f0a002' }))
  const { report } = await importSnapshots({ mapping, snapshots })
  return report.losses_unnamed === 0 ? report.passages : 0
}

const PAGE = '<!doctype html><html lang="en"><body><h1>Bees</h1><p>Keep bees.</p></body></html>'
const FILLED = {
  authority: 'Bee Office',
  jurisdiction: 'ZZ',
  canonical_url: 'https://bees.example/',
  published_at: '2020-01-01',
  effective_at: '2020-01-01',
}

function filled(yaml: string): string {
  return yaml.replaceAll(/^(\w+):$/gm, (all, name: string) =>
    name in FILLED ? `${name}: ${FILLED[name as keyof typeof FILLED]}` : all,
  )
}

test('a proposal says what was recognised and what no file states; filled in, the folder is imported', async () => {
  const folder = folderWith({ 'a.html': PAGE, 'scan.xml': '<akomaNtoso>\n' })
  const { yaml, sentences } = await proposeSource(folder)
  expect(yaml).toContain('# a.html: html, "Bees", 1 passage')
  expect(sentences).toEqual([
    'scan.xml: not read: not well-formed XML: unclosed tag: akomaNtoso (line 2)',
    'No file states authority: the body that made the law.',
    'No file states jurisdiction: the country or body for which the law is in force: US, DE, EU, GB-SCT.',
    'No file states canonical_url: the address at the publisher; the name of the file follows one that ends with /.',
    'No file states published_at: the day of publication, YYYY-MM-DD.',
    'No file states effective_at: the day from which the texts are in force, YYYY-MM-DD.',
  ])
  expect(parseSourceYaml(yaml)).toMatchObject({ files: {} })
  expect(await importedWith(folder, `${filled(yaml)}accepted_losses: ['scan.xml:2']\n`)).toBe(1)
})

test('a title that some files lack is asked for by file', async () => {
  const untitled = PAGE.replace('<h1>Bees</h1>', '')
  const folder = folderWith({ 'a.html': PAGE, 'b.html': untitled })
  const { yaml } = await proposeSource(folder)
  expect(yaml).toContain('files:\n  b.html:\n    title:  # the title of the document')
})

test('the words and printed days of a file suggest its language and days, as comments', async () => {
  const german = '<h1>Imkerei</h1><p>Das Gesetz vom 3. März gilt ab dem 01.07.2021 und nach der Anhörung.</p>'
  const english = '<h1>Bees</h1><p>The keeper of the hives shall register them by 4 May 2020 and the day of sale.</p>'
  const pageOf = (body: string): string => `<!doctype html><html><body>${body}</body></html>`
  const folder = folderWith({ 'a.html': pageOf(german), 'b.html': pageOf(english) })
  const { yaml } = await proposeSource(folder)
  for (const hint of ['a.html: it reads as de', 'b.html: it reads as en', 'a.html: it prints 2021-07-01'])
    expect(yaml).toContain(`# ${hint}\n`)
  expect(yaml).toContain('# b.html: it prints 2020-05-04\neffective_at:\n')
  expect(await importedWith(folder, `${filled(yaml)}\nlanguage: de\n`.replace('language:\n', ''))).toBe(2)
  const partly = folderWith({ 'a.html': pageOf(german), 'b.html': PAGE })
  expect((await proposeSource(partly)).yaml).toMatch(/ {4}language: {2}# the language of the texts.*; it reads as de$/m)
})

test('what some files state is asked of the others by file, and nothing of a file that holds no law', async () => {
  const unmarked = PAGE.replace(' lang="en"', '')
  const notice = '<NOTICE><WORK><TITLE>A notice</TITLE></WORK></NOTICE>'
  const folder = folderWith({ 'a.html': PAGE, 'b.html': unmarked, 'notice.xml': notice })
  const { yaml, sentences } = await proposeSource(folder)
  expect(yaml).toContain('files:\n  b.html:\n    language:  # the language of the texts')
  expect(sentences).toContainEqual(expect.stringMatching(/^1 of 2 files \(b\.html\) does not state language/))
  expect(sentences[0]).toMatch(/^notice\.xml: formex, "A notice", no passage: a notice of EUR-Lex/)
})

test('a proposal for JSONL reads the usual names of metadata, names what looks like an end, and imports', async () => {
  const records = ['1', '2'].map((section) => line(section, `Text of section ${section}.`, { section, status: 'x' }))
  const folder = folderWith({ 'corpus.jsonl': records.join('\n') })
  const { yaml, sentences } = await proposeSource(folder)
  expect(parseSourceYaml(yaml).records).toMatchObject({
    document_key: '{metadata.act}',
    effective_at: '{metadata.effective}',
    published_at: '{metadata.published}',
    citation_label: '{metadata.act}, section {metadata.section}',
    language: '{metadata.lang}',
  })
  expect(sentences.at(-1)).toContain('"status" ("x") may state an end or a status')
  const corrected = `jurisdiction: ZZ\n${filled(yaml).replace(/^jurisdiction:.*$/m, '')}\nignored_fields: [status]\n`
  expect(await importedWith(folder, corrected)).toBe(2)
})

test('a date that some records of JSONL state is read of them, and asked for the others', async () => {
  const records = [line('1', 'Text.'), line('2', 'Text.', { effective: '' }), line('3', 'Text.', { effective: '' })]
  const folder = folderWith({ 'corpus.jsonl': records.join('\n') })
  const { yaml, sentences } = await proposeSource(folder)
  expect(parseSourceYaml(yaml).records).toMatchObject({ effective_at: '{metadata.effective}' })
  expect(sentences).toContainEqual(expect.stringMatching(/^2 of 3 records do not state effective_at/))
})

test('records of other shapes are read by their inner fields; dates in another form and the first fault are named', async () => {
  const metadata = {
    act: { title: 'Bee Act' },
    section: 1.1,
    dates: { effective: '2 January 2020', end: '2021-01-01' },
  }
  const records = ['1', '2'].map((id) => JSON.stringify({ id, text: `Text ${id}.`, metadata }).replace('1.1', '1.10'))
  const folder = folderWith({ 'corpus.jsonl': records.join('\n') })
  const { yaml, sentences } = await proposeSource(folder)
  expect(parseSourceYaml(yaml).records).toMatchObject({
    title: '{metadata.act.title}',
    citation_label: '{metadata.act.title}, section {metadata.section}',
  })
  expect(yaml).toContain('# "1.10"')
  expect(sentences).toContain(
    '2 of 2 values of "dates.effective" are no day YYYY-MM-DD, such as "2 January 2020": correct them.',
  )
  expect(sentences.join('\n')).toContain('The field "dates.end" ("2021-01-01") may state an end or a status')
  const unknown = folderWith({ 'corpus.jsonl': '\n{"id": 1, "content": "x"}' })
  await expect(proposeSource(unknown)).rejects.toThrow(/is a record .* \(line 2: not an object with "id"/)
})
