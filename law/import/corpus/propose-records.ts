import { stringify } from 'yaml'
import { z } from 'zod'
import { OperatorError } from '#core/platform/errors.ts'
import { IMPORT_BOUNDS } from '../bounds.ts'
import { jsonlRecords } from '../record/jsonl.ts'
import { instantOf } from '../mapping/dates.ts'
import { fieldNameSchema, type FieldName } from '../mapping/mapping.ts'
import { looksLikeEnd } from '../mapping/read-fields.ts'
import FIELDS_TABLE from './proposed-fields.json' with { type: 'json' }

const names = z.array(z.tuple([fieldNameSchema, z.string()]))
const { usual_names, needed_of_records: NEEDED } = z
  .object({ usual_names: names, needed_of_records: z.array(z.tuple([fieldNameSchema, z.string(), z.string()])) })
  .parse(FIELDS_TABLE)
/** Names of metadata by the field of a mapping that they probably fill, the likeliest first. */
const USUAL_NAMES = new Map(usual_names)
const FIELDS = [...USUAL_NAMES.keys()]

/** Share of the records that must state a field for a rule to read it; other fields are read where any record has them. */
const SHARE_MIN = 0.9
const READ_WHERE_MOST_STATE_IT: ReadonlySet<FieldName> = new Set(['document_key', 'title', 'citation_label'])

interface Stated {
  records: number
  example: string
  /** Values that are no day, YYYY-MM-DD, and one of them. */
  others: number
  other: string
}

/**
 * Proposes the rules for records of JSONL by the names of their metadata, with an example of each, and lines for what
 * none fills.
 * @throws OperatorError where no line is a record.
 */
export async function proposedRecords(paths: readonly string[]) {
  const { records, fields, fault } = await metadataIn(paths)
  if (records === 0)
    throw new OperatorError(
      `No line of the JSONL is a record with "id" and "text" (${fault ?? 'it is empty'}): correct the file.`,
    )
  const chosen = new Map<FieldName, string>()
  const isUsed = (name: string): boolean => [...chosen].some(([field, used]) => used === name && field !== 'title')
  for (const field of FIELDS) {
    const named = fieldsFor(field, fields)
    const statedBy = (enough: number): string | undefined =>
      named.find(
        (name) =>
          (fields.get(name)?.records ?? 0) > enough &&
          (field === 'title' || !isUsed(name)) &&
          fits(field, fields.get(name)?.example ?? ''),
      )
    const found = statedBy(SHARE_MIN * records) ?? (READ_WHERE_MOST_STATE_IT.has(field) ? undefined : statedBy(0))
    if (found !== undefined) chosen.set(field, found)
  }
  return written(records, fields, chosen)
}

/** The fields of each usual name, the one of this very name first: `title` is also `act.title`, `act_title` only that. */
function fieldsFor(field: FieldName, fields: ReadonlyMap<string, Stated>): readonly string[] {
  return (USUAL_NAMES.get(field) ?? '').split(' ').flatMap((usual) => {
    const inner = [...fields.keys()].filter(
      (name) => name.includes('.') && (name.replaceAll('.', '_') === usual || name.endsWith(`.${usual}`)),
    )
    return fields.has(usual) ? [usual, ...inner] : inner
  })
}

function fits(field: FieldName, example: string): boolean {
  if (field === 'canonical_url') return /^https?:\/\//.test(example)
  if (field.endsWith('_at') || field === 'effective_to') return /^\d{4}-\d{2}-\d{2}/.test(example)
  return true
}

async function metadataIn(paths: readonly string[]): Promise<{
  readonly records: number
  readonly fields: ReadonlyMap<string, Stated>
  readonly fault: string | undefined
}> {
  const fields = new Map<string, Stated>()
  let [records, fault]: [number, string | undefined] = [0, undefined]
  for (const path of paths)
    for await (const item of jsonlRecords(path)) {
      if (item.kind === 'fault') fault ??= `line ${item.line}: ${item.reason}`
      if (item.kind !== 'record') continue
      if (records >= IMPORT_BOUNDS.proposedRecordsMax) return { records, fields, fault }
      records += 1
      for (const [placeholder, value] of item.values) note(fields, placeholder.slice('metadata.'.length), value)
    }
  return { records, fields, fault }
}

function note(fields: Map<string, Stated>, name: string, value: string): void {
  const stated = fields.get(name) ?? { records: 0, example: value, others: 0, other: '' }
  if (stated.records === 0 && fields.size >= IMPORT_BOUNDS.unreadFieldsNamedMax) return
  fields.set(name, stated)
  stated.records += 1
  if (instantOf(value) !== undefined) return
  stated.others += 1
  stated.other ||= value
}

function written(records: number, fields: ReadonlyMap<string, Stated>, chosen: ReadonlyMap<FieldName, string>) {
  const lines = ['#', `# ${records} records of JSONL were read for it.`, '']
  const sentences: string[] = []
  // What an operator must state where no metadata fills it: the field, its name in `source.yaml`, and what it is.
  for (const [field, name, what] of NEEDED) {
    const stated = fields.get(chosen.get(field) ?? '')?.records ?? 0
    if (stated >= records) continue
    const who =
      stated === 0 ? 'No field of the records states' : `${records - stated} of ${records} records do not state`
    sentences.push(`${who} ${name}: ${what}.`)
    lines.push(`# ${who} ${what}.`, `${name}:`, '')
  }
  lines.push(
    '# What a later text of the same id or provision replaces: the document or the provision.',
    'revises: provision',
  )
  lines.push('', '# How records become passages: {metadata.NAME} is a field of their metadata.', 'records:')
  for (const field of FIELDS) {
    const name = chosen.get(field)
    // Where no metadata fits, a record is cited by its id.
    if (name === undefined && field === 'citation_label') lines.push(`  ${field}: ${stringify('{id}').trim()}`)
    if (name === undefined) continue
    const example = JSON.stringify(fields.get(name)?.example.slice(0, 60))
    lines.push(`  ${field}: ${stringify(ruleOf(field, name, fields, chosen)).trim()}  # ${example}`)
  }
  const used = new Set(chosen.values())
  sentences.push(...oddDates(fields, chosen))
  const others = [...fields].filter(([name]) => !used.has(name))
  for (const [name, { example }] of others.filter(([each, { example: text }]) => looksLikeEnd(each, text)))
    sentences.push(
      `The field ${JSON.stringify(name)} (${JSON.stringify(example.slice(0, 60))}) may state an end or a status: read it in a ` +
        'rule, or list it in "ignored_fields".',
    )
  lines.push(
    '',
    ...others.map(([name, { example }]) => `# Not read: ${name}, as in ${JSON.stringify(example.slice(0, 60))}`),
  )
  return { lines, sentences }
}

/** Kinds of provisions by which a record is cited. */
const PROVISIONS: ReadonlySet<string> = new Set(['provision', 'article', 'section', 'paragraph'])

/** The rule that reads a field. The number of a provision alone cites nothing: the title stands before it. */
function ruleOf(
  field: FieldName,
  name: string,
  fields: ReadonlyMap<string, Stated>,
  chosen: ReadonlyMap<FieldName, string>,
): string {
  const [title, kind] = [chosen.get('title'), name.slice(name.lastIndexOf('.') + 1)]
  const isNumber =
    field === 'citation_label' && PROVISIONS.has(kind) && !/\p{L}{3}/u.test(fields.get(name)?.example ?? '')
  return isNumber && title !== undefined ? `{metadata.${title}}, ${kind} {metadata.${name}}` : `{metadata.${name}}`
}

/** Sentences on dates in a form that the rules do not read: of the fields that were chosen, and of those that were not. */
function oddDates(fields: ReadonlyMap<string, Stated>, chosen: ReadonlyMap<FieldName, string>): readonly string[] {
  const dated = FIELDS.filter((field) => field.endsWith('_at') || field === 'effective_to')
  return dated.flatMap((field) => {
    const used = chosen.get(field)
    const name = used ?? fieldsFor(field, fields).find((each) => /\d/.test(fields.get(each)?.other ?? ''))
    const { records = 0, others = 0, other = '' } = fields.get(name ?? '') ?? {}
    if (name === undefined || others === 0 || (used === undefined && [...chosen.values()].includes(name))) return []
    const shown = JSON.stringify(other.slice(0, 60))
    return [
      `${others} of ${records} values of ${JSON.stringify(name)} are no day YYYY-MM-DD, such as ${shown}: correct them.`,
    ]
  })
}
