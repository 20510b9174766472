import { readFileSync } from 'node:fs'
import { z } from 'zod'

const HERE = new URL('./', import.meta.url)

export const CORPORA = ['eu', 'cfpb', 'de', 'fr', 'obliqa', 'contractnli', 'raw'] as const

/** Parts and their samples. Sentences of `reporting` were judged before the parser read them, and tuned nothing. */
export const PARTS = { tuning: [1, 2, 3, 4, 5, 6, 7, 8, 9], reporting: [10, 11] } as const
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
export type LabelledReference = Sentence['references'][number]

const actsSchema = z.record(
  z.string(),
  z.array(z.strictObject({ id: z.string().min(1), aliases: z.array(z.string().min(1)) })),
)

/** Every judged sentence, or those of one part. */
export function readSentences(part?: Part): readonly Sentence[] {
  const sentences = CORPORA.flatMap((corpus) =>
    readFileSync(new URL(`${corpus}.jsonl`, HERE), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => sentenceSchema.parse(JSON.parse(line))),
  )
  return sentences.filter(({ sample }) => part === undefined || PARTS[part].some((number) => number === sample))
}

/** The acts of each corpus with their names, as an import with the shipped mapping lists them. */
export function readActs(): z.infer<typeof actsSchema> {
  return actsSchema.parse(JSON.parse(readFileSync(new URL('acts.json', HERE), 'utf8')))
}
