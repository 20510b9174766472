import { open } from 'node:fs/promises'
import { OperatorError } from '#core/platform/errors.ts'
import { READER_BOUNDS } from '#law/readers/bounds.ts'
import { DATE_RULES } from '#law/readers/document.ts'
import { recognised } from '#law/readers/read.ts'
import { CITED_TITLE_CHARACTERS_MAX } from '#law/readers/words-citation.ts'
import { cloneAt } from '#law/sources/git/clone.ts'
import { isMarkdownName, listSource } from '#law/sources/list.ts'
import { IMPORT_BOUNDS } from '../bounds.ts'
import { MARKDOWN_MAPPING, alternativesOf, parseMapping, ruleSchema } from '../mapping/mapping.ts'
import type { Alternative, Mapping } from '../mapping/mapping.ts'
import { hasOwnFields } from '../record/markdown/front-matter.ts'
import { NOTHING_STATED, STATED, STATED_FIELDS, readSourceYaml, rulesStated } from './source-yaml.ts'
import type { SourceYaml, StatedFields } from './source-yaml.ts'

/**
 * Returns how the files of a source are read where no mapping is given: as its `source.yaml` says, else by their
 * content. Markdown with the documented front matter needs nothing else.
 * @throws OperatorError for a `source.yaml` that is not understood, and where there is nothing to read.
 */
export async function mappingOf(source: string): Promise<Mapping> {
  const clone = cloneAt(source)
  if (clone !== undefined) return statedMapping((await readSourceYaml(clone.path)) ?? NOTHING_STATED)
  const stated = await readSourceYaml(source)
  if (stated !== undefined) return statedMapping(stated)
  return (await holdsLaw(source)) ? statedMapping(NOTHING_STATED) : MARKDOWN_MAPPING
}

/**
 * Returns how files are read of which a `source.yaml` states this. @throws OperatorError for rules that are not usable.
 */
export function statedMapping(stated: SourceYaml): Mapping {
  return stated.records === undefined ? lawMapping(stated) : recordsMapping(stated, stated.records)
}

/** Whether a source holds published law, and not only Markdown with the documented front matter. */
async function holdsLaw(source: string): Promise<boolean> {
  const { files } = await listSource(source, 'law')
  let ownFiles = 0
  for (const { path, sourceName } of files) {
    const head = await headOf(path)
    const format = recognised(sourceName, head)
    if (format !== undefined && format !== 'markdown') return true
    if (format === 'markdown' && hasOwnFields(head)) ownFiles += 1
  }
  return ownFiles === 0 && !files.some(({ sourceName }) => isMarkdownName(sourceName))
}

async function headOf(path: string): Promise<Buffer> {
  await using file = await open(path, 'r').catch((cause: unknown) => {
    throw new OperatorError(`cannot read ${path}: check its path and rights`, { cause })
  })
  const head = Buffer.alloc(READER_BOUNDS.probeBytes)
  const { bytesRead } = await file.read(head, 0, head.length, 0)
  return head.subarray(0, bytesRead)
}

/**
 * Returns the mapping of published law. What `source.yaml` states of one file comes first, then what the file states,
 * then what `source.yaml` states of the folder. A date that a reader derives has its rule in the lineage.
 */
function lawMapping(source: SourceYaml): Mapping {
  const tables: Record<string, Record<string, string>> = {}
  const stated = (field: keyof StatedFields, ...own: readonly Alternative[]): readonly Alternative[] => {
    const ofFiles = Object.entries(source.files).flatMap(([file, fields]) => {
      const value = fields[field]
      return value === undefined ? [] : [[file, value] as const]
    })
    if (ofFiles.length > 0) tables[field] = Object.fromEntries(ofFiles)
    const first = ofFiles.length === 0 ? [] : [{ from: '{metadata.file}', lookup: field, derived: STATED }]
    const last = source[field]
    return [...first, ...own, ...(last === undefined ? [] : [{ from: last, derived: STATED }])]
  }
  const characters_max = IMPORT_BOUNDS.titleCharactersMax
  const folder = source.canonical_url?.endsWith('/') === true ? source.canonical_url : undefined
  const address = folder === undefined ? [] : [{ from: `${folder}{metadata.file}`, derived: STATED }]
  const values = {
    title: stated('title', { from: '{metadata.title}', characters_max }),
    name: { from: '{values.title}', characters_max: CITED_TITLE_CHARACTERS_MAX },
  }
  const fields = {
    ...MARKDOWN_MAPPING.fields,
    document_key: stated('document', '{metadata.document}', '{metadata.file}'),
    title: '{values.title}',
    authority: stated('authority', '{metadata.authority}', ...authoritiesOf(source, tables)),
    canonical_url: stated('canonical_url', '{metadata.canonical_url}', ...address),
    published_at: [...stated('published_at', ...dates('published_at')), ...dates('effective_at')],
    effective_at: stated('effective_at', ...dates('effective_at')),
    effective_to: stated('effective_to', ...dates('effective_to')),
    citation_label: [
      { from: '{section.label}', characters_max: IMPORT_BOUNDS.citationCharactersMax },
      '{values.name}, {section.untitled}',
      '{section.reference}',
      '{section.within}, {section.below}',
      '{values.name}, {title}',
      '{values.name}',
    ],
    language: stated('language', '{metadata.language}'),
    jurisdiction: stated('jurisdiction', '{metadata.jurisdiction}'),
    subjects: stated('subjects', '{metadata.subject}'),
    verification_status: ['{metadata.verification_status}', 'source-declared'],
    heading: { from: '{section.path}', characters_max: IMPORT_BOUNDS.headingCharactersMax },
  }
  return parseMapping({
    format: 'law',
    about: 'Published law, with what source.yaml states of it.',
    ...rulesStated(source),
    tables,
    values,
    ignored_fields: [...source.ignored_fields, ...MARKDOWN_MAPPING.ignored_fields],
    fields,
  })
}

/** The authority by rank, then by country, as `source.yaml` states it. */
function authoritiesOf({ authorities }: SourceYaml, tables: Record<string, object>): readonly Alternative[] {
  if (Object.keys(authorities).length === 0) return []
  tables['authorities'] = authorities
  return ['{metadata.rank}', '{metadata.country}'].map((from) => ({ from, lookup: 'authorities', derived: STATED }))
}

function dates(name: string): readonly Alternative[] {
  const derived = Object.entries(DATE_RULES).map(([rule, words]) => ({
    from: `{metadata.${name}-${rule}}`,
    derived: words,
  }))
  return [`{metadata.${name}}`, ...derived]
}

/**
 * Returns the mapping of JSONL: the rules under `records`, and after them what `source.yaml` states of all records.
 * @throws OperatorError naming every fault of the rules.
 */
function recordsMapping(source: SourceYaml, records: Readonly<Record<string, unknown>>): Mapping {
  const fields: Record<string, unknown> = { verification_status: 'source-declared', ...records }
  for (const name of STATED_FIELDS) {
    const [field, stated] = [name === 'document' ? 'document_key' : name, source[name]]
    if (stated === undefined) continue
    const rule = ruleSchema.safeParse(records[field]).data
    fields[field] = [...(rule === undefined ? [] : alternativesOf(rule)), { from: stated, derived: STATED }]
  }
  return parseMapping({ format: 'jsonl', ...rulesStated(source), ignored_fields: source.ignored_fields, fields })
}
