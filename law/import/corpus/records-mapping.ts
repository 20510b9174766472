import { alternativesOf, parseMapping, ruleSchema } from '../mapping/mapping.ts'
import type { Mapping } from '../mapping/mapping.ts'
import { STATED, rulesStated } from './source-yaml.ts'
import type { SourceYaml } from './source-yaml.ts'

/** The fields of a mapping by what `source.yaml` states of all records. */
const FIELDS = {
  document_key: 'document',
  title: 'title',
  authority: 'authority',
  canonical_url: 'canonical_url',
  published_at: 'published_at',
  effective_at: 'effective_at',
  effective_to: 'effective_to',
  language: 'language',
  jurisdiction: 'jurisdiction',
  subjects: 'subjects',
} as const satisfies Record<string, keyof SourceYaml>

/**
 * Returns the mapping of JSONL: the rules under `records`, and after them what `source.yaml` states of all records.
 * @throws OperatorError naming every fault of the rules.
 */
export function recordsMapping(source: SourceYaml, records: Readonly<Record<string, unknown>>): Mapping {
  const fields: Record<string, unknown> = { verification_status: 'source-declared', ...records }
  for (const [field, name] of Object.entries(FIELDS)) {
    const stated = source[name]
    if (stated === undefined) continue
    const rule = ruleSchema.safeParse(records[field]).data
    fields[field] = [...(rule === undefined ? [] : alternativesOf(rule)), { from: stated, derived: STATED }]
  }
  return parseMapping({ format: 'jsonl', ...rulesStated(source), ignored_fields: source.ignored_fields, fields })
}
