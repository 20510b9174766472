import { readFile } from 'node:fs/promises'
import { OperatorError } from '#core/platform/errors.ts'
import { SOURCE_FORMATS } from '#law/sources/list.ts'
import { z } from 'zod'
import { DATE_STYLES } from './dates.ts'
import MARKDOWN from './markdown.json' with { type: 'json' }
import { patternFault } from './pattern.ts'

/**
 * Text with placeholders: `{id}`, `{title}`, `{text}`, `{metadata.<field>}`, `{section.<field>}` (Markdown),
 * `{values.<name>}`. A template resolves if every placeholder resolves.
 */
const template = z.string().min(1).max(2_000)
const pattern = z
  .string()
  .min(1)
  .max(500)
  .superRefine((source, context) => {
    const fault = patternFault(source)
    if (fault !== undefined) context.addIssue({ code: 'custom', message: fault })
  })

/**
 * One way to fill a field. Its steps run in the order of the properties below. The alternative resolves if every step
 * resolves and the result is not blank.
 */
const alternativeSchema = z.union([
  template,
  z.strictObject({
    from: template,
    /** Regular expression in RE2 syntax (`pattern.ts`) that must match. */
    match: pattern.optional(),
    /** Replacement text with `$1`, `$<name>`. The default is the first group of the match, else the whole match. */
    as: z.string().max(2_000).optional(),
    /** Table that must hold the result so far as a key. */
    lookup: z.string().optional(),
    /** The publisher's date style; the date becomes YYYY-MM-DD. */
    date: z.enum(DATE_STYLES).optional(),
    /** Characters (code points) to which the result is cut. */
    characters_max: z.int().min(1).max(10_000).optional(),
    /** The documented rule by which the field is filled; kept in the lineage of the revision. */
    derived: z.string().min(1).max(300).optional(),
  }),
])
export type Alternative = z.infer<typeof alternativeSchema>

/** Alternatives in order of preference: the first that resolves fills the field. */
export const ruleSchema = z.union([alternativeSchema, z.array(alternativeSchema).min(1).max(40)])
export type Rule = z.infer<typeof ruleSchema>

const fieldsSchema = z.strictObject({
  document_key: ruleSchema,
  title: ruleSchema,
  authority: ruleSchema,
  canonical_url: ruleSchema,
  published_at: ruleSchema,
  effective_at: ruleSchema,
  /** The day on which the revision ceases to be in force; absent means open. */
  effective_to: ruleSchema.optional(),
  citation_label: ruleSchema,
  /** The publisher's own fragment of the cited part. */
  citation_fragment: ruleSchema.optional(),
  /** Canonical id of the act, scheme and name: `celex:32016R0679`, `cfr:12/1003`, `rulebook:aml`. */
  act: ruleSchema.optional(),
  /** Names of the act in queries beside the common names: one alias, or several separated by commas. */
  aliases: ruleSchema.optional(),
  /**
   * The provision whose text the record holds, as it is cited: `12 CFR 1003.2(g)(1)`, `Article 6(1) GDPR`. Several (an
   * article, its chapter) are separated by semicolons. The default is the citation label.
   */
  reference: ruleSchema.optional(),
  /** Name of the provision, equal in every revision of its document. The default is the citation label. */
  provision: ruleSchema.optional(),
  language: ruleSchema,
  jurisdiction: ruleSchema,
  /** One subject, or several separated by commas. */
  subjects: ruleSchema.optional(),
  verification_status: ruleSchema,
  /** Title and headings, embedded before the text. The default is the document's title and the record's title. */
  heading: ruleSchema.optional(),
})
export const fieldNameSchema = fieldsSchema.keyof()
export type FieldName = z.infer<typeof fieldNameSchema>
export const REQUIRED_FIELDS = fieldNameSchema.options.filter(
  (name) => !fieldsSchema.shape[name].safeParse(undefined).success,
)

const mappingSchema = z
  .strictObject({
    format: z.enum(SOURCE_FORMATS),
    /** Description of the corpus and the source of the rules, for human readers. */
    about: z.string().max(4_000).optional(),
    /** Licence of the sources, as the public trace states it. */
    licence: z.string().min(1).max(200).optional(),
    knowledge_base: z
      .strictObject({
        slug: z.string().regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/),
        title: z.string().min(1).max(200),
      })
      .optional(),
    tables: z.record(z.string(), z.record(z.string(), z.string())).default({}),
    /** Named intermediate results, in order; each may use the earlier ones. */
    values: z.record(z.string(), ruleSchema).default({}),
    fields: fieldsSchema,
    /**
     * What a new revision replaces: the whole document, or the same provision alone. A text then ends when its
     * successor takes effect. Without it, overlapping revisions of JSONL records refuse the import; a new revision of a
     * Markdown document replaces the document.
     */
    revises: z.enum(['document', 'provision']).optional(),
    /**
     * Names of sources. Where several hold one document of a day, or with `revises: provision` different texts of one
     * id or provision of a day, all of it comes from the first one here. It decides only where all of them are listed.
     */
    precedence: z
      .array(z.string().min(1).max(1_000))
      .max(10_000)
      .refine((names) => new Set(names).size === names.length, 'names a source twice: name each source once')
      .default([]),
    /**
     * Labels under which the publisher has several texts at one time, and how many: each is confirmed by its name. Any
     * other repetition refuses the import, which lists what is to confirm.
     */
    repeated_labels: z.record(z.string().min(1).max(500), z.int().min(2).max(100_000)).default({}),
    /** What happens where a record's end is not after its start; it refuses the import unless this skips the record. */
    reversed_dates: z.enum(['refuse', 'skip']).default('refuse'),
    /**
     * Fields of metadata or front matter that are known and mean nothing for the import, by name. A field that neither
     * a rule reads nor this list names refuses a Markdown file; of JSONL, one that looks like an end or a status does
     * (`read-fields.ts`).
     */
    ignored_fields: z.array(z.string().min(1).max(200)).max(1_000).default([]),
    /**
     * Losses that an operator accepts, by the names that the report of an import gives them: the id of a record of
     * JSONL, `file.md#anchor` of Markdown, else `file:line`.
     */
    accepted_losses: z.array(z.string().min(1).max(1_600)).max(10_000).default([]),
    /**
     * Patterns in RE2 syntax for records that are no evidence; the first pattern that matches gives the reason. `on`
     * defaults to `{text}`.
     */
    skip_patterns: z
      .array(z.strictObject({ on: template.default('{text}'), pattern, reason: z.string().min(1).max(200) }))
      .max(50)
      .default([]),
  })
  .superRefine((mapping, context) => {
    for (const [message, path] of faultsOf(mapping)) context.addIssue({ code: 'custom', message, path: [...path] })
  })
  .transform((mapping) => ({ ...mapping, fields: withDerivedDates(mapping.fields) }))
export type Mapping = z.infer<typeof mappingSchema>

const PLACEHOLDER = /\{([a-z]+(?:\.[^{}]+)?)\}/g

/** Returns the names in a template, without braces. */
export function placeholdersOf(text: string): readonly string[] {
  return [...text.matchAll(PLACEHOLDER)].map((found) => found[1] ?? '')
}

export function alternativesOf(rule: Rule): readonly Alternative[] {
  return Array.isArray(rule) ? rule : [rule]
}

export function templateOf(alternative: Alternative): string {
  return typeof alternative === 'string' ? alternative : alternative.from
}

function sourcesOf(alternative: Alternative): readonly string[] {
  return placeholdersOf(templateOf(alternative))
}

type Fields = z.infer<typeof fieldsSchema>

const ANOTHER_DATE = 'the date that the mapping takes for the time in force'
const CONSTANT_DATE = 'one date for every record, which the mapping states'

/**
 * Marks as derived, unless the mapping says its rule, a date that does not depend on the record, and a publication that
 * is taken from a date of the time in force.
 */
function withDerivedDates(fields: Fields): Fields {
  const { published_at: published, effective_at: from, effective_to: to } = fields
  const inForce = new Set([from, to ?? []].flatMap(alternativesOf).flatMap(sourcesOf))
  const marked = (rule: Rule, others: ReadonlySet<string> = new Set()): Rule =>
    alternativesOf(rule).map((alternative) => {
      const names = sourcesOf(alternative)
      const isAnother = names.some((name) => others.has(name))
      if (names.length > 0 && !isAnother) return alternative
      const written = typeof alternative === 'string' ? { from: alternative } : alternative
      return { derived: isAnother ? ANOTHER_DATE : CONSTANT_DATE, ...written }
    })
  return {
    ...fields,
    published_at: marked(published, inForce),
    effective_at: marked(from),
    ...(to === undefined ? {} : { effective_to: marked(to) }),
  }
}

type Shape = Pick<z.infer<typeof mappingSchema>, 'tables' | 'values' | 'fields' | 'skip_patterns'>
type Fault = readonly [message: string, path: readonly (string | number)[]]

/** Yields faults that the schema cannot express: unknown names. */
function* faultsOf({ tables, values, fields, skip_patterns }: Shape): Generator<Fault> {
  const known = new Set<string>()
  const rules = [...Object.entries(values), ...Object.entries(fields)]
  for (const [index, [name, rule]] of rules.entries()) {
    const isValue = index < Object.keys(values).length
    const path = [isValue ? 'values' : 'fields', name]
    for (const alternative of rule === undefined ? [] : alternativesOf(rule)) {
      for (const message of unknownNames(templateOf(alternative), known)) yield [message, path]
      if (typeof alternative === 'string' || alternative.lookup === undefined) continue
      if (!Object.hasOwn(tables, alternative.lookup))
        yield [`looks up in "${alternative.lookup}", which is not among the tables`, path]
    }
    if (isValue) known.add(`values.${name}`)
  }
  for (const [index, { on }] of skip_patterns.entries())
    for (const message of unknownNames(on, known)) yield [message, ['skip_patterns', index, 'on']]
}

function unknownNames(text: string, known: ReadonlySet<string>): readonly string[] {
  return placeholdersOf(text)
    .filter((name) => !/^(?:id|title|text|(?:metadata|section)\..*)$/s.test(name) && !known.has(name))
    .map(
      (name) =>
        `uses {${name}}, which is neither id, title, text, metadata.<field>, section.<field> nor a value named before`,
    )
}

/** @throws OperatorError naming every fault of the mapping and where it is. */
export function parseMapping(json: unknown): Mapping {
  const parsed = mappingSchema.safeParse(json)
  if (parsed.success) return parsed.data
  throw new OperatorError(
    `the mapping file is not usable; correct it and import again:\n${z.prettifyError(parsed.error)}`,
  )
}

/** Mapping of Markdown with the documented front matter, used when no mapping file is given. */
export const MARKDOWN_MAPPING: Mapping = parseMapping(MARKDOWN)

/** @throws OperatorError when the file cannot be read, is not JSON, or is not a usable mapping. */
export async function readMapping(path: string): Promise<Mapping> {
  const contents = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new OperatorError(`The mapping file ${path} cannot be read: check its path and rights.`, { cause })
  })
  try {
    return parseMapping(JSON.parse(contents))
  } catch (cause) {
    if (cause instanceof SyntaxError)
      throw new OperatorError(`The mapping file ${path} is not JSON: correct it and import again.`, { cause })
    throw cause
  }
}
