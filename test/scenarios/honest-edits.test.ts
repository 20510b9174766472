import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import { markdownSource } from '#test/support/markdown-source.ts'
import { serve } from '../jobs/version-build/rulebook.ts'
import { openCandidateHarness, type CandidateHarness } from './candidate-harness.ts'

/** Act of the Markdown corpus by its subject. */
function act(subject: string, sections: readonly string[], front: Readonly<Record<string, string>> = {}): string {
  const fields = {
    document: subject,
    title: `${subject} Act`,
    authority: 'Parliament',
    canonical_url: `https://law.example/${subject}`,
    language: 'en',
    jurisdiction: 'XA',
    published_at: '2024-01-15',
    effective_at: '2024-02-01',
    verification_status: 'verified',
  }
  const numbered = sections.map((text, at) => `## § ${at + 1} ${text.replace(/^(.*?): /, `$1 {#s${at + 1}}\n\n`)}\n`)
  return markdownSource({ ...fields, ...front }, ['', ...numbered].join('\n'))
}

const FEE = 'Fee: The fee for a licence is ten crowns and is paid within 30 days.'
const KEEP = 'Register: The holder must keep a register of every contract.'
const SHOW = 'Inspection: The register is shown to the inspector on request.'
const TABLE = 'Rates: The rates are these.\n\n| Goods | Rate |\n| --- | --- |\n| Wool | 5 |\n| Silk | 9 |'
const LATER = { published_at: '2025-11-01', effective_at: '2026-01-01' }

const BEFORE = {
  'amended.md': act('Amended', [FEE, KEEP]),
  'repealed.md': act('Repealed', [FEE, KEEP]),
  'renumbered.md': act('Renumbered', [KEEP, SHOW]),
  'consolidated.md': act('Consolidated', [FEE, KEEP, SHOW]),
  'bilingual.md': act('Bilingual', [KEEP]),
  'misspelt.md': act('Misspelt', [KEEP.replace('contract', 'contarct'), SHOW]),
  'annexed.md': act('Annexed', [KEEP]),
  'tabled.md': act('Tabled', [KEEP, TABLE]),
}
const ANNEX = `${act('Annexed', [KEEP])}\n## Annex Forms {#annex}\n\nThe register is kept in the form of this annex.\n`
const AFTER = {
  ...BEFORE,
  'amended.2026.md': act('Amended', [FEE.replace('ten', 'twenty'), KEEP], LATER),
  'repealed.md': act('Repealed', [FEE, KEEP], { effective_to: '2025-12-31' }),
  'renumbered.md': act('Renumbered', ['Purpose: This act is about registers.', KEEP, SHOW]),
  'consolidated.md': act('Consolidated', [FEE.replace('30', '14'), KEEP, SHOW], LATER),
  'bilingual.fr.md': act('Bilingual', ['Registre: Le titulaire tient un registre de chaque contrat.'], {
    language: 'fr',
    title: 'Loi bilingue',
  }),
  'misspelt.md': act('Misspelt', [KEEP, SHOW]),
  'annexed.md': ANNEX,
  'tabled.md': act('Tabled', [KEEP, TABLE.replace('| 9 |', '| 11 |')]),
}

/** What the page says of each document. */
const SHOWN: readonly (readonly [title: string, ...words: readonly string[]])[] = [
  [
    'Amended',
    'followed by a later text Amended Act, § 1 Fee · en · in force from 2024-02-01 → 2026-01-01',
    'The fee for a licence is [-ten-][+twenty+] crowns',
  ],
  ['Repealed', 'Repealed Act, § 1 Fee · en · in force from 2024-02-01 in force to: [-none-] → [+2025-12-31+]'],
  [
    'Renumbered',
    'passage added Renumbered Act, § 1 Purpose · en · in force from 2024-02-01 This act is about registers.',
    'label: [-Renumbered Act, § 1 Register-] → [+Renumbered Act, § 2 Register+]',
    'label: [-Renumbered Act, § 2 Inspection-] → [+Renumbered Act, § 3 Inspection+]',
  ],
  [
    'Consolidated',
    'in force from another day Consolidated Act, § 1 Fee · en · in force from 2024-02-01 → 2026-01-01',
    'within [-30-][+14+] days. ! A deadline changes: “within 30 days” → “within 14 days”',
    '2 passages with equal texts',
  ],
  ['Loi bilingue', '1 × passage added', 'Loi bilingue, § 1 Registre · fr · in force from 2024-02-01 Le titulaire'],
  [
    'Misspelt',
    '1 × passage changed',
    'every [-contarct-][+contract+]. ! The text changes and its day in force does not',
  ],
  ['Annexed', '1 × passage added', 'Annexed Act, Annex Forms · en · in force from 2024-02-01 The register is kept'],
  ['Tabled', '1 × passage changed', '| Silk | [-9-][+11+] | ! A number changes: “9” → “11”'],
]

/** An act as its publisher marks it: the sections from the second on are prospective. */
function clml(year: number, texts: readonly string[]): string {
  const sections = texts.map(
    (text, at) =>
      `<P1group><Title>Wool</Title><P1 id="section-${at + 1}"${at === 0 ? '' : ' Status="Prospective"'}>` +
      `<Pnumber>${at + 1}</Pnumber><P1para><Text>${text}</Text></P1para></P1></P1group>`,
  )
  return (
    '<Legislation xmlns="http://www.legislation.gov.uk/namespaces/legislation" ' +
    `DocumentURI="http://www.legislation.gov.uk/ukpga/${year}/5" RestrictStartDate="${year}-02-01">` +
    '<ukm:Metadata xmlns:ukm="http://www.legislation.gov.uk/namespaces/metadata" ' +
    `xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Wool Act ${year}</dc:title><ukm:PrimaryMetadata>` +
    `<ukm:EnactmentDate Date="${year}-01-01"/></ukm:PrimaryMetadata></ukm:Metadata>` +
    `<Primary><Body>${sections.join('')}</Body></Primary></Legislation>`
  )
}

let harness: CandidateHarness
beforeAll(async () => {
  harness = await openCandidateHarness()
  await harness.keygen('first')
  await harness.jsonWithId('reviewers', 'add', 'First', '--public-key', harness.file('first.pub'))
})
afterAll(() => harness?.close())

async function built(slug: string, files: Readonly<Record<string, string>>) {
  const folder = harness.file(slug)
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const imported = await harness.jsonWithId('import', '--knowledge-base', slug, '--source', folder)
  const { rows } = await harness.owner.query<{ id: string }>('select id from knowledge_bases where slug = $1', [slug])
  const buildId = await harness.requestBuild(rows[0]?.id ?? '', imported.id)
  expect(await harness.runBuild(buildId)).toMatchObject({ outcome: 'succeeded' })
  return buildId
}

/** The words that a reader of the page sees: a title, and its groups by their title. */
function pageOf(version: string) {
  const page = readFileSync(harness.store.reportFile(version), 'utf8')
  const [head = '', ...groups] = page.split(/<details class="group"(?: open)?>/).map((part) =>
    part
      .replaceAll(/<(script|style)[\s\S]*?<\/\1>|<bdi class="own">[\s\S]*?<\/bdi>/g, '')
      .replaceAll(/<del>\s*([\s\S]*?)\s*<\/del>/g, '[-$1-]')
      .replaceAll(/<ins>\s*([\s\S]*?)\s*<\/ins>/g, '[+$1+]')
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .replaceAll(/(?<=\[[-+]) | (?=[-+]\])/g, '')
      .trim(),
  )
  return { head, about: (title: string): string => groups.find((group) => group.startsWith(title)) ?? '' }
}

const signing = (version: string): readonly string[] => {
  const verdict = ['--verdict', 'approved', '--note', 'read']
  return ['review', 'sign', version, '--key', harness.file('first.pem'), ...verdict]
}

test('honest edits pass, and the page says in few words what each changes', async () => {
  const first = versionIdOf(await built(harness.base.slug, BEFORE))
  await harness.cli.json(...signing(first))
  expect(await harness.activated(first)).toBe('done')
  const second = versionIdOf(await built(harness.base.slug, AFTER))
  const { head, about } = pageOf(second)
  expect(head).toContain('8 documents: 11 rules changed, 3 added')
  expect(head).toContain('Passed, with changes')
  for (const [title, ...words] of SHOWN) for (const word of words) expect(about(title)).toContain(word)
  // Nobody reads a warning where no word is another.
  for (const title of ['Annexed', 'Renumbered', 'Repealed', 'Loi']) expect(about(title)).not.toContain('! ')
  expect(about('The import') + about('Texts that stay equal')).toContain('3 × snapshot changed, text equal')
  const accepted = /--accept ([\w,]+)/.exec(await harness.refusal(...signing(second)))?.[1] ?? ''
  await harness.cli.json(...signing(second), '--accept', accepted)
  expect(await harness.activated(second)).toBe('done')
})

test('what many acts state is no law of one of them, and what few state is still served under another id', async () => {
  const asked = ['--knowledge-base', harness.base.slug, '--reason', 'wrong', '--key', harness.file('first.pem')]
  expect(await harness.cli.json('withdraw', 'Annexed Act', ...asked)).toMatchObject({ also_served: [] })
  const few = expect.stringContaining('"Misspelt Act, § 2 Inspection, Misspelt Act" has the text of')
  const made = await harness.cli.json('withdraw', 'Misspelt Act, § 2 Inspection', ...asked)
  expect(made).toMatchObject({ also_served: [few, few] })
})

test('an act with prospective sections passes: those are named and not served', async () => {
  const id = await harness.createKnowledgeBase()
  const slug = `kb-${id.slice(0, 8)}`
  const held = { 'source.yaml': 'authority: Wool Office\n', 'wool.xml': clml(2001, ['Wool is weighed.']) }
  await serve(harness, await built(slug, held))
  const files = { ...held, 'later.xml': clml(2025, ['Wool is dyed.', 'Wool is taxed.', 'Wool is burnt.']) }
  const version = versionIdOf(await built(slug, files))
  const { head, about } = pageOf(version)
  expect(head).toContain('Wool Act 2025: 1 rule added')
  expect(about('Wool Act 2025')).toContain('section 1 · en · in force from 2025-02-01 Wool is dyed.')
  const leftOut = about('Left out by a rule of the reader: 4')
  for (const text of ['2 Wool is taxed.', '3 Wool is burnt.'])
    expect(leftOut).toContain(`not in force: not yet: ${text}`)
})
