import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { ONE_OF_EACH } from '#test/law/readers/samples.ts'

const DATA = fileURLToPath(new URL('../../../../shared/data', import.meta.url))
const present = existsSync(join(DATA, 'raw'))

export const STAND_IN = present ? '' : ' (../shared/data is absent: the samples of the conformance suite stand in)'

/** One published file a format, by the format that `operator inspect` says. Nobody publishes the Word document. */
const PUBLISHED: Readonly<Record<string, string>> = {
  'akoma-ntoso': 'akn_ldml_de/vereinsg_1964-s593_expr-2017-03-16.xml',
  clml: 'clml/ukpga-2000-38-section-19.xml',
  ecfr: 'ecfr/title-1-part-51-2024-05-17.xml',
  cfr: 'ecfr/CFR-2015-title14-vol5.xml',
  uslm: 'uslm/usc10_slice_uslm1.xml',
  regml: 'regml/1003_2013-31223.xml',
  formex: 'eurlex/L_202400903EN.002601.fmx.xml',
  'eur-lex': 'web/TA-9-2024-0130_EN.html',
  html: 'web/BILLS-119hr9025ih.html',
  markdown: 'de_md/uwg_2004.md',
  pdf: 'pdf/cisa_ed-20-04.pdf',
}
const RECORDS = {
  file: 'eu/corpus.jsonl',
  lines: 14,
  label: '{metadata.act_title}, Article {metadata.article}({metadata.paragraph})',
}

/** The file that the publisher changes, in the format `ecfr`. */
export const AMENDED = present
  ? {
      label: '1 CFR 51.3',
      before: 'within 20 working days after',
      after: 'within 30 working days after',
      query: 'Within how many working days will the Director notify the agency of the approval under 1 CFR 51.3?',
    }
  : {
      label: '1 CFR 51.1',
      before: 'It does not apply to tests',
      after: 'It does not apply to trials',
      query: 'To what does this part not apply under 1 CFR 51.1?',
    }

export interface SourceFile {
  readonly format: string
  readonly name: string
  readonly bytes: Buffer
}

/** Samples of several formats have one name, or are one act, which an import refuses; here each has its own name. */
const RENAMED: Readonly<Record<string, readonly [RegExp, string]>> = {
  clml: [/Samples(?= Act)/g, 'Testing'],
  'eur-lex': [/2016\/679/g, '2016/678'],
  markdown: [/Muster(?=G|gesetz)/g, 'Proben'],
  pdf: [/(?<=Order on )samples/g, 'tissues'],
}

/** A file of each format. */
export const FILES: readonly SourceFile[] = ONE_OF_EACH.map(({ format, bytes }) => {
  const published = PUBLISHED[format]
  if (present && published !== undefined)
    return { format, name: basename(published), bytes: readFileSync(join(DATA, 'raw', published)) }
  const [name, other] = RENAMED[format] ?? [/$^/, '']
  const renamed = Buffer.from(bytes.toString('latin1').replace(name, other), 'latin1')
  // The day of a part of the eCFR stands only in its name.
  return { format, name: `${format}${format === 'ecfr' ? '-2024-05-17' : ''}.file`, bytes: renamed }
})

export function fileOf(format: string): SourceFile {
  const found = FILES.find((file) => file.format === format)
  if (found === undefined) throw new Error(`there is no file of ${format}`)
  return found
}

/** Writes records of JSONL into a folder of their own. */
export async function writeRecords(folder: string): Promise<void> {
  await mkdir(folder)
  const metadata = { act: 'A', act_title: 'Act A', article: '1', paragraph: '1', effective_from: '2024-08-01' }
  // Long enough for a question of the evaluation.
  const text = 'This act applies to samples of law that are kept for tests, and to whoever writes or reads them.'
  const sample = { id: 'r1', title: 'Article 1', text, metadata }
  const lines = present
    ? (await readFile(join(DATA, RECORDS.file), 'utf8')).split('\n').slice(0, RECORDS.lines)
    : [JSON.stringify(sample)]
  await writeFile(join(folder, 'corpus.jsonl'), `${lines.join('\n')}\n`)
}

/** Pictures of forms and seals in these files, and changes that their publisher lists apart from the text. */
const LOSSES = [
  'cfr picture (7)',
  'clml change that the publisher has not made in the text (2)',
  'eur-lex picture (1)',
  'regml picture (4)',
]

/** Fills in the `source.yaml` of files of law as its editor does: each empty value, and what may be lost. */
export async function correctLaw(path: string): Promise<void> {
  await correct(path, (proposed) => `${proposed.trimEnd()}\naccepted_losses: ${JSON.stringify(LOSSES)}\n`)
}

/** Fills in the `source.yaml` of records: each empty value, and how a record is cited. */
export async function correctRecords(path: string): Promise<void> {
  await correct(path, (proposed) => proposed.replace(/citation_label:.*/, `citation_label: "${RECORDS.label}"`))
}

async function correct(path: string, further: (proposed: string) => string): Promise<void> {
  const proposed = await readFile(path, 'utf8')
  const stated: Readonly<Record<string, string>> = {
    authority: 'Sample Office',
    language: 'en',
    jurisdiction: 'US',
    canonical_url: 'https://law.example/',
    published_at: '2020-01-01',
    effective_at: '2020-02-01',
  }
  const corrected = proposed.replaceAll(/^( *)(\w+):(?= *(?:#.*)?$)/gm, (line, indent: string, field: string) =>
    stated[field] === undefined ? line : `${indent}${field}: ${stated[field]}`,
  )
  await writeFile(path, further(corrected))
}

export const inspectedSchema = z.array(
  z.looseObject({ path: z.string(), format: z.string().nullable(), provisions: z.int(), coverage: z.number() }),
)
