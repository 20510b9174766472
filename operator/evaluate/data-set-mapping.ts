import { OperatorError } from '#core/platform/errors.ts'
import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { jsonlRecords } from '#law/import/record/jsonl.ts'
import MAPPING from './mapping.json' with { type: 'json' }

export interface MappingChoices {
  /** Metadata field that confines questions, and the subject that represents each of its values. */
  readonly limit: { readonly field: string; readonly subjectOf: ReadonlyMap<string, string> } | undefined
  /** Whether the records' own effective dates are used, which questions as of a day need. */
  readonly dated: boolean
  /** Metadata fields that are known to state neither an end nor a status (`offsetFields`). */
  readonly known?: readonly string[]
}

/**
 * Returns the mapping of a BEIR-style corpus to a temporary version. A record's id is its citation label, by which
 * found passages are judged; an id is never read as a reference. Its title is the heading. Rows of one document keep
 * their order. Values that no record states are marked as filled in: a version with such values is never served.
 */
export function evaluationMapping({ limit, dated, known = [] }: MappingChoices): object {
  const { fields } = MAPPING
  const days = {
    effective_at: ['{metadata.effective_from}', ...fields.effective_at],
    effective_to: '{metadata.effective_to}',
  }
  return {
    ...MAPPING,
    ignored_fields: [...known, ...(dated ? [] : ['effective_to'])],
    tables: limit === undefined ? {} : { limit_to: Object.fromEntries(limit.subjectOf) },
    fields: {
      ...fields,
      // A dash replaces a missing title; it has no words for the ranking.
      title: [{ from: '{title}', characters_max: IMPORT_BOUNDS.titleCharactersMax }, '–'],
      heading: [{ from: '{title}', characters_max: IMPORT_BOUNDS.headingCharactersMax }, '–'],
      ...(dated ? days : {}),
      ...(limit === undefined ? {} : { subjects: { from: `{metadata.${limit.field}}`, lookup: 'limit_to' } }),
    },
  }
}

/** Spaces that a text may have lost at its ends since its offsets were taken. */
const TRIMMED_MAX = 20

/**
 * Returns `end` where it is an offset in a text and no day: with `start` it spans the characters of every record's
 * text. An import takes a field of that name for the end of a law.
 */
export async function offsetFields(corpus: string, signal?: AbortSignal): Promise<readonly string[]> {
  let records = 0
  for await (const item of jsonlRecords(corpus, signal)) {
    if (item.kind !== 'record') continue
    const [start, end] = ['start', 'end'].map((name) => item.values.get(`metadata.${name}`))
    if (start === undefined || end === undefined || !/^\d+$/.test(`${start}${end}`)) return []
    const trimmed = Number(end) - Number(start) - item.text.length
    if (trimmed < 0 || trimmed > TRIMMED_MAX) return []
    records += 1
  }
  return records === 0 ? [] : ['end']
}

/**
 * Returns a subject for every value of a metadata field in the corpus. A value itself might be too long for a subject,
 * or contain the comma that separates subjects.
 * @throws OperatorError when there are no values, or more than a version may have subjects.
 */
export async function limitSubjects(corpus: string, field: string, signal?: AbortSignal) {
  const subjects = new Map<string, string>()
  for await (const item of jsonlRecords(corpus, signal)) {
    const value = item.kind === 'record' ? item.values.get(`metadata.${field}`) : undefined
    if (value === undefined || subjects.has(value)) continue
    if (subjects.size === IMPORT_BOUNDS.facetValuesMax)
      throw new OperatorError(
        `--limit-to ${field} tells more than ${IMPORT_BOUNDS.facetValuesMax} groups of records apart: ` +
          'evaluate a part of the corpus.',
      )
    subjects.set(value, `group-${subjects.size}`)
  }
  if (subjects.size === 0)
    throw new OperatorError(
      `No record of the corpus has the metadata field ${field}: name one that records and questions ` +
        'share with --limit-to.',
    )
  return subjects
}
