import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { REVIEW_BOUNDS } from './bounds.ts'

/** Of a change that is no passage, `before` and `after` are no fields. */
const fieldsSchema = z.record(z.string(), z.unknown()).catch({})
const changeSchema = z.object({
  kind: z.string(),
  /** Citation of a passage. */
  label: z.string().optional(),
  document: z.object({ title: z.string().optional(), key: z.string().optional() }).optional(),
  facet: z.string().optional(),
  repository: z.string().optional(),
  value: z.string().optional(),
  /** Of an answer or a question, a reference, a name of an act, a setting. */
  question: z.string().nullish(),
  reference: z.string().optional(),
  name: z.string().optional(),
  field: z.string().optional(),
  before: fieldsSchema.optional(),
  after: fieldsSchema.optional(),
  revisions: z.array(z.object({ before: fieldsSchema, after: fieldsSchema.nullable() })).optional(),
})
type Change = z.infer<typeof changeSchema>

/** Changes that come first are named although there is no room for all. */
const CLASSES = ['rewritten', 'text', 'wrong', 'lost', 'removed', 'repeated', 'other', 'added'] as const
type ChangeClass = (typeof CLASSES)[number]

const LABEL_CHARACTERS_MAX = 200

/**
 * Names the changes of the file that matter most, for the audit trail: rewritten histories, altered texts, answers that are wrong or lost,
 * removals, repeated passages, other changes with the names of the fields, additions. The lines of provisions are left out, because each follows
 * lines of its passages.
 * @param path a file whose digest was verified.
 */
export async function firstChanges(path: string): Promise<readonly string[]> {
  const found = new Map<ChangeClass, string[]>(CLASSES.map((each) => [each, []]))
  using opened = new DisposableStack()
  const stream = opened.adopt(createReadStream(path), (it) => it.destroy())
  for await (const line of createInterface({ input: stream, crlfDelay: Infinity })) {
    const change = changeSchema.parse(JSON.parse(line))
    if (change.kind.startsWith('provisions_') || change.kind.endsWith('_fitted')) continue
    const list = found.get(changeClassOf(change))
    if (list !== undefined && list.length < REVIEW_BOUNDS.auditedChangesMax) list.push(inWords(change))
    if (found.get('text')?.length === REVIEW_BOUNDS.auditedChangesMax) break
  }
  return [...found.values()].flat().slice(0, REVIEW_BOUNDS.auditedChangesMax)
}

function changeClassOf({ kind, before }: Change): ChangeClass {
  if (kind === 'passages_changed' && before?.['text'] !== undefined) return 'text'
  return CLASSES.find((each) => kind.endsWith(`_${each}`)) ?? 'other'
}

function inWords(change: Change): string {
  const { kind, label, document, ...rest } = change
  const of = [rest.repository, rest.facet, rest.value, rest.question, rest.reference, rest.name, rest.field]
  const what = [label, document?.title ?? document?.key, ...of].flatMap((part) => part ?? [])
  const differing = kind.endsWith('_changed') ? fieldsThatDiffer(change) : []
  const fields = differing.length === 0 ? '' : ` (${differing.join(', ')})`
  return `${kind}: ${what.join(', ').slice(0, LABEL_CHARACTERS_MAX)}${fields}`
}

/** A revision that the candidate does not have differs as a whole. */
function fieldsThatDiffer({ before = {}, revisions = [] }: Change): readonly string[] {
  const names = new Set(Object.keys(before))
  for (const { before: own, after: other } of revisions) {
    if (other === null) names.add('revision not in the candidate')
    else for (const name of Object.keys(own)) if (own[name] !== other[name]) names.add(name)
  }
  return [...names]
}
