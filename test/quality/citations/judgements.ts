import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

const HERE = new URL('./', import.meta.url)

export const CORPORA = ['eu', 'cfpb', 'de', 'fr', 'obliqa', 'contractnli', 'raw'] as const

/** Where the corpora lie that the judged sentences come from. */
export const CORPORA_FOLDER = fileURLToPath(new URL('../../../../shared/data', import.meta.url))

/** Parts and their samples. Sentences of `reporting` were judged before the parser read them, and tuned nothing. */
const PARTS = { tuning: [1, 2, 3, 4, 5, 6, 7, 8, 9], reporting: [10, 11] } as const
export type Part = keyof typeof PARTS

/** Drawn one after the other, each with its own seed; see the README. */
const SAMPLES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] as const

const rangeSchema = z.strictObject({ start: z.int().nonnegative(), end: z.int().positive() })
/** One judged sentence. Ranges count UTF-16 units in the text of the record. */
const sentenceSchema = z.strictObject({
  sample: z.literal(SAMPLES),
  corpus: z.enum(CORPORA),
  /** Of the record; a path in the folder for files that are no corpus. */
  id: z.string().min(1),
  ...rangeSchema.shape,
  /** Drawn from the sentences that hold a word or a number of citations. */
  citation_like: z.boolean(),
  /** The act is a canonical id; `named`: another one that no corpus here holds; null where the sentence states none. */
  references: z.array(z.strictObject({ ...rangeSchema.shape, act: z.string().min(1).nullable() })),
  /** Names of acts without a provision, and citations that the end of the sentence cuts off: they count neither way. */
  open: z.array(rangeSchema).default([]),
})
export type Sentence = z.infer<typeof sentenceSchema>

const actsSchema = z.record(
  z.string(),
  z.array(z.strictObject({ id: z.string().min(1), aliases: z.array(z.string().min(1)) })),
)
const recordSchema = z.object({ id: z.string(), text: z.string() })

function linesOf<Line>(file: string | URL, schema: z.ZodType<Line>): readonly Line[] {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  return lines.map((line) => schema.parse(JSON.parse(line)))
}

/** Every judged sentence, or those of one part. */
export function readSentences(part?: Part): readonly Sentence[] {
  const sentences = CORPORA.flatMap((corpus) => linesOf(new URL(`${corpus}.jsonl`, HERE), sentenceSchema))
  return sentences.filter(({ sample }) => part === undefined || PARTS[part].some((number) => number === sample))
}

/** The acts of each corpus with their names, as an import with the shipped mapping lists them. */
export function readActs(): z.infer<typeof actsSchema> {
  return actsSchema.parse(JSON.parse(readFileSync(new URL('acts.json', HERE), 'utf8')))
}

export function areTextsPresent(folder: string): boolean {
  return existsSync(join(folder, 'raw')) && existsSync(join(folder, 'eu', 'corpus.jsonl'))
}

/** The texts of the records that sentences of one corpus come from, by id. */
export function readTexts(
  folder: string,
  corpus: Sentence['corpus'],
  ids: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  if (corpus === 'raw')
    return new Map([...ids].map((id) => [id, textOfFile(id, readFileSync(join(folder, 'raw', id), 'utf8'))]))
  const records = linesOf(join(folder, corpus, 'corpus.jsonl'), recordSchema)
  return new Map(records.filter(({ id }) => ids.has(id)).map(({ id, text }) => [id, text]))
}

/** Elements that hold no text of the document. */
const HIDDEN = /<!--[\s\S]*?-->|<(script|style)\b[\s\S]*?<\/\1>/gi
const TAG = /<[^>]+>/g
const ENTITY = /&(#\d{1,7}|#x[\da-f]{1,6}|amp|lt|gt|quot|apos|nbsp);/gi
const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }

/**
 * Returns the text of a file as judgements count its characters. Markdown counts as it is. Of XML and HTML, tags become
 * spaces, entities become characters, and white space becomes single spaces.
 */
export function textOfFile(path: string, content: string): string {
  if (path.endsWith('.md')) return content
  const visible = content.replace(HIDDEN, ' ').replace(TAG, ' ')
  return visible.replace(ENTITY, (_, entity: string) => characterOf(entity)).replace(/\s+/g, ' ')
}

function characterOf(entity: string): string {
  if (!entity.startsWith('#')) return NAMED[entity.toLowerCase()] ?? ' '
  const isHexadecimal = /^#x/i.test(entity)
  const code = Number.parseInt(entity.slice(isHexadecimal ? 2 : 1), isHexadecimal ? 16 : 10)
  return code <= 0x10_ffff ? String.fromCodePoint(code) : ' '
}
