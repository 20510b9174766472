import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Passage } from '#law/import/passage/passage.ts'
import { MARKDOWN_MAPPING, parseMapping, type Mapping } from '#law/import/mapping/mapping.ts'
import { openPassageReader, withStagedRecordsFile } from '#law/import/passage/staged-records-file.ts'
import type { StageInput } from '#law/import/passage/stager.ts'
import { readSources } from '#law/import/pipeline.ts'
import type { ImportReport } from '#law/import/report/report.ts'
import { keptRecords } from '#law/import/staging/rows.ts'
import { openStaging } from '#law/import/staging/staging.ts'

const KNOWLEDGE_BASE = '0b0f2c52-5a3a-4d0e-8f3c-1f0a35f0a001'
const SNAPSHOT = '0b0f2c52-5a3a-4d0e-8f3c-1f0a35f0a002'

export interface Imported {
  readonly passages: readonly Passage[]
  readonly report: ImportReport
}

/** Imports local files as they are; without a mapping they are Markdown with the documented front matter. */
export async function importFiles(
  paths: readonly string[],
  mapping: Mapping = MARKDOWN_MAPPING,
  keep: (passage: Passage) => boolean = () => true,
): Promise<Imported> {
  const snapshots = paths.map((path) => ({
    id: SNAPSHOT,
    sourceName: path.slice(path.lastIndexOf('/') + 1),
    mediaType: 'text/plain',
    path,
  }))
  return await importSnapshots({ snapshots, mapping }, keep)
}

/** Imports snapshots, with their files in a folder of its own. Passages are in the order of the sources. */
export async function importSnapshots(
  given: Omit<StageInput, 'knowledgeBaseId'>,
  keep: (passage: Passage) => boolean = () => true,
): Promise<Imported> {
  const input = { ...given, knowledgeBaseId: KNOWLEDGE_BASE }
  const folder = await mkdtemp(join(tmpdir(), 'import-'))
  const path = join(folder, 'records.jsonl')
  using staging = openStaging(join(folder, 'staging.sqlite'))
  await using ending = new AsyncDisposableStack()
  ending.defer(() => rm(folder, { recursive: true }))
  const report = await withStagedRecordsFile(path, (file) => readSources(input, staging, file))
  using reader = openPassageReader(path, input.mapping)
  const passages = Array.from(keptRecords(staging), (kept) => reader.passagesOf(kept).filter(keep)).flat()
  return { passages, report }
}

/** Lines, or all bytes or text. */
type Content = readonly string[] | string | Uint8Array

/** Imports contents, each a file of its own. */
export async function importContents(
  contents: Readonly<Record<string, Content>>,
  mapping?: Mapping,
): Promise<Imported> {
  const folder = await mkdtemp(join(tmpdir(), 'import-'))
  await using ending = new AsyncDisposableStack()
  ending.defer(() => rm(folder, { recursive: true }))
  const paths: string[] = []
  for (const [name, content] of Object.entries(contents)) {
    paths.push(join(folder, name))
    const isLines = typeof content !== 'string' && !(content instanceof Uint8Array)
    await writeFile(join(folder, name), isLines ? content.join('\n') : content)
  }
  return await importFiles(paths, mapping)
}

/** A mapping of records made by `line`; `fields` overrides. */
export function smallMapping(
  fields: Readonly<Record<string, unknown>> = {},
  rest: Readonly<Record<string, unknown>> = {},
): Mapping {
  return parseMapping({
    format: 'jsonl',
    revises: 'provision',
    fields: {
      document_key: '{metadata.act}',
      title: 'The {metadata.act} Act',
      authority: 'Parliament',
      canonical_url: 'https://law.example/{metadata.act}',
      published_at: '{metadata.published}',
      effective_at: '{metadata.effective}',
      effective_to: '{metadata.until}',
      citation_label: '{metadata.act} s. {metadata.section}',
      language: '{metadata.lang}',
      jurisdiction: '{metadata.place}',
      subjects: '{metadata.subjects}',
      verification_status: 'source-declared',
      ...fields,
    },
    ...rest,
  })
}

/** Imports records of `line` as one file, by a small mapping where none is given. */
export async function importLines(lines: Content, mapping: Mapping = smallMapping()): Promise<Imported> {
  return await importContents({ 'corpus.jsonl': lines }, mapping)
}

const METADATA = {
  act: 'Bees',
  section: '1',
  published: '2020-01-02',
  effective: '2020-02-03',
  lang: 'EN-gb',
  place: 'gb',
  subjects: ['apiculture', 'food'],
}

export function line(id: string, text: string, metadata: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({ id, title: `Section ${id}`, text, metadata: { ...METADATA, ...metadata } })
}

/** The report of an import that found nothing to report, with no counts. */
export const EMPTY_REPORT: ImportReport = {
  files: 0,
  records_read: 0,
  passages: 0,
  documents: 0,
  revisions: 0,
  ends_derived: 0,
  split: 0,
  skipped: 0,
  lost: 0,
  reasons: {},
  entries: [],
  entries_omitted: 0,
  splits: [],
  losses: [],
  losses_unnamed: 0,
  derived_ends: [],
  omissions: [],
  coverage: { characters: 0, uncovered: 0, by: {}, remainder: [] },
  unread_fields: {},
  derived_values: {},
  warnings: { count: 0, entries: [] },
  facets: { languages: [], jurisdictions: [], subjects: [], statuses: [] },
  referenced: 0,
  acts: [],
}
