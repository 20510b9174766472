import { stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { LineCounter, isNode, parseDocument } from 'yaml'
import { z } from 'zod'
import { OperatorError } from '#core/platform/errors.ts'
import { SOURCE_YAML } from '#law/sources/list.ts'
import { assertWithin, openWithin, type SourceRoots } from '#law/sources/roots.ts'
import { IMPORT_BOUNDS } from '#law/import/bounds.ts'

const text = z.string().trim().max(2_000)
/** An empty value states nothing. */
const stated = text.transform((value) => value || undefined).optional()
const names = z.array(z.string().min(1)).max(10_000).default([])

/** What an operator may state of a file, or of all files of a folder. */
const statedFields = {
  document: stated,
  title: stated,
  authority: stated,
  canonical_url: stated,
  published_at: stated,
  effective_at: stated,
  effective_to: stated,
  language: stated,
  jurisdiction: stated,
  /** One subject, or several separated by commas. */
  subjects: z
    .union([text, z.array(text).transform((list) => list.join(','))])
    .transform((value) => value || undefined)
    .optional(),
}

const sourceYamlSchema = z
  .strictObject({
    ...statedFields,
    /** The body that made the law, by the rank or the country of an act. */
    authorities: z.record(z.string(), text).default({}),
    licence: stated,
    revises: z.enum(['document', 'provision']).optional(),
    precedence: names,
    repeated_labels: z.record(z.string(), z.coerce.number()).default({}),
    accepted_losses: names,
    ignored_fields: names,
    /** By name of the file, with forward slashes. */
    files: z.record(z.string(), z.strictObject(statedFields)).default({}),
    /** JSONL: the rules of a mapping, by field (`mapping.ts`). */
    records: z.record(z.string(), z.unknown()).optional(),
  })
  .refine(({ document, title, files }) => (document ?? title) === undefined || Object.keys(files).length === 0, {
    message: 'states one document or title for all files beside "files": state it of each file',
  })
export type SourceYaml = z.infer<typeof sourceYamlSchema>
export type StatedFields = Pick<SourceYaml, keyof typeof statedFields>

export const STATED_FIELDS = z.object(statedFields).keyof().options

/** The lineage of a field that no file states. */
export const STATED = 'stated in source.yaml'

/** The rules of a mapping that are no field, as `source.yaml` states them. */
export function rulesStated({ licence, revises, precedence, repeated_labels, accepted_losses }: SourceYaml): object {
  return { licence, revises, precedence, repeated_labels, accepted_losses }
}

/** What stands where a folder has no `source.yaml`. */
export const NOTHING_STATED: SourceYaml = sourceYamlSchema.parse({})

/**
 * Reads the `source.yaml` of a folder, or of the folder of a file; undefined where there is none.
 * @throws OperatorError naming the line of what is not understood, and for a source outside the roots.
 */
export async function readSourceYaml(
  source: string,
  roots: SourceRoots = 'own rights',
): Promise<SourceYaml | undefined> {
  await assertWithin(source, roots)
  const isFile = (await stat(source).catch(() => undefined))?.isFile() === true
  const path = join(isFile ? dirname(source) : source, SOURCE_YAML)
  await using file = await openWithin(path, roots, 'file').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
      return undefined
    throw error
  })
  if (file === undefined) return undefined
  if ((await file.stat()).size > IMPORT_BOUNDS.sourceYamlBytesMax)
    throw new OperatorError(`${path} is larger than ${IMPORT_BOUNDS.sourceYamlBytesMax} bytes: make it shorter.`)
  return parseSourceYaml(await file.readFile('utf8'), path)
}

export function parseSourceYaml(yaml: string, path: string = SOURCE_YAML): SourceYaml {
  const lineCounter = new LineCounter()
  const name = basename(path)
  const document = parseDocument(yaml, { schema: 'failsafe', lineCounter })
  const [fault] = document.errors
  if (fault !== undefined)
    throw new OperatorError(
      `${name}, line ${lineCounter.linePos(fault.pos[0]).line}: not valid YAML. Correct it and run the command again.`,
    )
  const parsed = sourceYamlSchema.safeParse(withoutEmpty(document.toJS({ maxAliasCount: 0 })) ?? {})
  if (parsed.success) return parsed.data
  const sentences = parsed.error.issues.map(({ path: where, message, ...issue }) => {
    const keys = 'keys' in issue && Array.isArray(issue.keys) ? [String(issue.keys[0])] : []
    const found = [...where, ...keys]
    const node = document.getIn(found, true)
    const line = isNode(node) && node.range ? lineCounter.linePos(node.range[0]).line : 1
    return `${name}, line ${line}: ${found.join('.')}: ${message}`
  })
  throw new OperatorError(`${sentences.join('\n')}\nCorrect ${name} and run the command again.`)
}

/** YAML reads a key without a value as an empty text, where a list or a table is expected too. */
function withoutEmpty(value: unknown): unknown {
  if (value === '' || value === null) return undefined
  const table = z.record(z.string(), z.unknown()).safeParse(value)
  if (Array.isArray(value) || !table.success) return value
  return Object.fromEntries(
    Object.entries(table.data).flatMap(([name, each]) => {
      const kept = withoutEmpty(each)
      return kept === undefined ? [] : [[name, kept]]
    }),
  )
}
