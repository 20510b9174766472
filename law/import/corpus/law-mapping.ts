import { DATE_RULES } from '#law/readers/document.ts'
import { CITED_TITLE_CHARACTERS_MAX } from '#law/readers/words-citation.ts'
import { IMPORT_BOUNDS } from '../bounds.ts'
import { MARKDOWN_MAPPING, parseMapping } from '../mapping/mapping.ts'
import type { Alternative, Mapping } from '../mapping/mapping.ts'
import { STATED, rulesStated } from './source-yaml.ts'
import type { StatedFields, SourceYaml } from './source-yaml.ts'

/**
 * Returns the mapping of published law. What `source.yaml` states of one file comes first, then what the file states,
 * then what `source.yaml` states of the folder. A date that a reader derives has its rule in the lineage.
 */
export function lawMapping(source: SourceYaml): Mapping {
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
  const address = source.canonical_url?.endsWith('/') === true ? [ofFolder(source.canonical_url)] : []
  const values = {
    title: stated('title', { from: '{metadata.title}', characters_max }),
    name: { from: '{values.title}', characters_max: CITED_TITLE_CHARACTERS_MAX },
  }
  const fields = {
    document_key: stated('document', '{metadata.document}', '{metadata.file}'),
    title: '{values.title}',
    authority: stated('authority', '{metadata.authority}'),
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
    citation_fragment: '{section.fragment}',
    act: ['{metadata.act}', 'rulebook:{metadata.citation_prefix}'],
    aliases: ['{metadata.aliases}', '{metadata.citation_prefix}'],
    reference: ['{section.reference}', '{section.within}'],
    provision: '{id}',
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

function ofFolder(url: string): Alternative {
  return { from: `${url}{metadata.file}`, derived: STATED }
}

function dates(name: string): readonly Alternative[] {
  const derived = Object.entries(DATE_RULES).map(([rule, words]) => ({
    from: `{metadata.${name}-${rule}}`,
    derived: words,
  }))
  return [`{metadata.${name}}`, ...derived]
}
