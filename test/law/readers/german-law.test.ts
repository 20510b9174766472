import { expect, test } from 'vitest'
import { readDocument, type ReadDocument } from '#law/readers/read.ts'

async function lawOf(front: string, heading: string, rest: string): Promise<ReadDocument> {
  const page = `---\n${front}\n---\n\n# ${heading}\n\nAusfertigungsdatum\n:   2016-10-26\n\n${rest}`
  return await readDocument('a-file', Buffer.from(page))
}

function citedIn(read: ReadDocument): readonly (readonly [string, string | undefined])[] {
  const sections = read.provisions.filter(({ kind }) => kind.startsWith('section'))
  return sections.map((each) => [read.cite(each).label, read.cite(each).reference])
}

test('a title of several lines is read whole, and the address is that of the publisher', async () => {
  const front =
    'Title: Verordnung zur Ermittlung der Muster\n  für das Jahr 2017\njurabk: MusterV 2017\norigslug: m_v_2017\nslug: musterv_2017\n'
  const read = await lawOf(front, 'Verordnung (MusterV 2017)', '## § 1 Ermittlung\n\nMuster.\n')
  expect(read.fields).toMatchObject({
    title: 'Verordnung zur Ermittlung der Muster für das Jahr 2017',
    url: 'https://www.gesetze-im-internet.de/m_v_2017/',
  })
  // The year is in the title: ordinances of other years are other law.
  expect(citedIn(read)).toEqual([['§ 1 MusterV 2017', '§ 1 MusterV 2017']])
})

test('the year that only tells an act from an older one is no part of its citation', async () => {
  const read = await lawOf(
    'Title: Mustergesetz\njurabk: MusterG 2016',
    'Mustergesetz (MusterG 2016)',
    '## § 1\n\nText.\n',
  )
  expect(citedIn(read)).toEqual([['§ 1 MusterG', '§ 1 MusterG']])
})

test('a file without the abbreviation in its front matter has it in its heading', async () => {
  const read = await lawOf('Title: Mustergesetz\nslug: musterg', 'Mustergesetz (MusterG)', '## § 1\n\nText.\n')
  expect(read.fields).toMatchObject({ identifier: 'MusterG', language: 'de', jurisdiction: 'DE' })
  expect(citedIn(read)).toEqual([['§ 1 MusterG', '§ 1 MusterG']])
})

test('repealed sections under one heading are cited together, and by the first of them', async () => {
  const rest = '## § 2b Rest\n\nText.\n\n## (XXXX) §§ 3 bis 6 (weggefallen)\n\n## (XXXX) §§ 7c und 8 (weggefallen)\n'
  const read = await lawOf('Title: Mustergesetz\njurabk: MusterG', 'Mustergesetz (MusterG)', rest)
  expect(citedIn(read)).toEqual([
    ['§ 2b MusterG', '§ 2b MusterG'],
    ['§§ 3 bis 6 MusterG', '§ 3 MusterG'],
    ['§§ 7c und 8 MusterG', '§ 7c MusterG'],
  ])
})

test('an act is cited by its official abbreviation, and has the others and its titles as names', async () => {
  const norm = (metadata: string, text: string): string =>
    `<norm doknr="B"><metadaten><jurabk>BBauG</jurabk>${metadata}</metadaten><textdaten><text><Content><P>${text}</P></Content></text></textdaten></norm>`
  const head = norm(
    '<amtabk>BauGB</amtabk><ausfertigung-datum>1960-06-23</ausfertigung-datum><langue>Baugesetzbuch</langue>',
    '',
  )
  const parts = ['§ 34', 'Anlage 1', 'Anlage'].map((enbez) => norm(`<enbez>${enbez}</enbez>`, 'Text.'))
  const xml = `<?xml version="1.0"?><dokumente>${head}${parts.join('')}</dokumente>`
  const read = await readDocument('a-file.xml', Buffer.from(xml))
  const cited = read.provisions.filter(({ label }) => label !== '').map((each) => read.cite(each))
  expect(cited.map(({ label, reference }) => [label, reference])).toEqual([
    ['§ 34 BauGB', '§ 34 BauGB'],
    ['BauGB, Anlage 1', 'Annex 1'],
    ['BauGB, Anlage', 'Annex'],
  ])
  expect(new Set(cited.map(({ act, aliases }) => `${act} = ${aliases}`))).toEqual(
    new Set(['de:baugb = BauGB, BBauG, Baugesetzbuch']),
  )
})

const NORM = (id: string, heading: string, text: string): string =>
  `<div class="jnnorm" id="${id}"><div class="jnheader"> <a name="${id}"></a><a href="index.html#${id}">Nichtamtliches Inhaltsverzeichnis</a><h3>${heading}</h3> </div><div>${text}</div></div>`

test('a page of law has a provision for each heading with a number, without links to the contents', async () => {
  const list =
    '<div>Muster sind<dl><dt>1.</dt><dd><div>Entwürfe,</div></dd><dt>2.</dt><dd><div>Versuche.</div></dd></dl></div>'
  const norms = `${NORM('E1', '<span>§ 13</span>&nbsp;<span>Muster</span>', list)}${NORM('E2', '<span>§§ 14 bis 20</span>&nbsp;<span>(weggefallen)</span>', '')}`
  const page = `<!doctype html><html lang="de"><head><title>MusterG</title></head><body><h1>Mustergesetz</h1><h2>Buch 1</h2>${norms}</body></html>`
  const read = await readDocument('a-file', Buffer.from(page))
  const passages = read.provisions.filter(({ kind }) => kind === 'section')
  expect(passages.map(({ anchor, text }) => [anchor, text])).toEqual([
    ['E1', 'Muster sind\n\n1. Entwürfe,\n\n2. Versuche.'],
    ['E2', '§§ 14 bis 20 (weggefallen)'],
  ])
  expect(citedIn(read)).toEqual([
    ['Mustergesetz, § 13', '§ 13'],
    ['Mustergesetz, §§ 14 bis 20', '§§ 14 bis 20'],
  ])
  expect(read.coverage.remainder).toEqual([])
})

test('a page with one heading that names an article is no page of law', async () => {
  const page = '<!doctype html><html><body><h1>Group</h1><h2>Article 29 Working Party</h2><p>Text.</p></body></html>'
  const read = await readDocument('a-file', Buffer.from(page))
  expect(read.provisions.map(({ kind }) => kind)).toEqual(['document', 'heading', 'heading'])
})

test('a row of a table ends where its cells end, and what is no row stays a list', async () => {
  const rows =
    '*    *   Art\n        der Gebühr\n    *   Höhe\n\n        in Euro\n\n\n*    *   Muster\n\n    *\n\nDer Satz danach.\n\n*   Liste\n\n    *   darunter\n'
  const read = await lawOf(
    'Title: Mustergesetz\njurabk: MusterG',
    'Mustergesetz (MusterG)',
    `## § 1 Gebühren\n\n${rows}`,
  )
  const text = read.provisions.find(({ kind }) => kind === 'section')?.text
  expect(text).toBe('Art der Gebühr | Höhe in Euro\nMuster\n\nDer Satz danach.\n\n* Liste\n\n* darunter')
  expect(read.coverage.remainder).toEqual([])
})
