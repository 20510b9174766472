import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'

const SHARED = fileURLToPath(new URL('../../../../shared', import.meta.url))
const DATA_FOLDER = join(SHARED, 'data')
export const MODEL_FOLDER = join(SHARED, 'models', 'multilingual-e5-small')

/** Jurisdictions stand in for those of the corpora, because the filters of the benchmark name these. */
const CORPORA = [
  { name: 'eu', language: 'en', jurisdiction: 'EU', asked: true },
  { name: 'cfpb', language: 'en', jurisdiction: 'US', asked: true },
  { name: 'de', language: 'de', jurisdiction: 'CH', asked: true },
  { name: 'fr', language: 'fr', jurisdiction: 'EU', asked: true },
  { name: 'obliqa', language: 'en', jurisdiction: 'UK', asked: false },
] as const

/** A passage of a real corpus. */
export type RealText = ReturnType<typeof readRealTexts>[number]

const recordSchema = z.object({
  id: z.string(),
  title: z.string(),
  text: z.string(),
  metadata: z.object({
    act: z.string().optional(),
    part: z.coerce.string().optional(),
    path: z.string().optional(),
    document: z.string().optional(),
  }),
})
const questionSchema = z.object({ question: z.string() })

/** @returns what is missing for real vectors, in a sentence that says what to do; undefined if nothing is. */
export function whatIsMissing(): string | undefined {
  const wanted = [join(MODEL_FOLDER, 'modules.json'), ...CORPORA.map(({ name }) => corpusFile(name))]
  const missing = wanted.filter((file) => !existsSync(file))
  if (missing.length === 0) return undefined
  return (
    'Real vectors need an encoder in ../shared/models and corpora in ../shared/data beside the project. ' +
    `Put ${missing.length} missing file(s) there, or leave the option out.`
  )
}

function corpusFile(name: string): string {
  return join(DATA_FOLDER, name, 'corpus.jsonl')
}

/** Consecutive passages that are taken together, so that provisions stay whole. */
const RUN = 32

/** At most so many passages, in runs from all parts of all corpora. */
export function readRealTexts(most: number) {
  const texts = CORPORA.flatMap(({ name, language, jurisdiction }) =>
    lines(corpusFile(name)).flatMap((line) => {
      const { id, title, text, metadata } = recordSchema.parse(line)
      const kept = [...text].slice(0, INDEX_BOUNDS.passageCharactersMax).join('').trim()
      const document = metadata.act ?? metadata.part ?? metadata.path ?? metadata.document ?? name
      return kept === '' ? [] : [{ corpus: name, language, jurisdiction, id, document, title, text: kept }]
    }),
  )
  const share = Math.min(1, most / texts.length)
  return texts.filter((_, at) => {
    const run = Math.floor(at / RUN)
    return Math.floor((run + 1) * share) > Math.floor(run * share)
  })
}

/** Natural questions, those of one corpus after those of another. */
export function readRealQuestions(): readonly string[] {
  const texts = CORPORA.filter(({ asked }) => asked).flatMap(({ name }) =>
    lines(join(DATA_FOLDER, 'questions', `${name}.jsonl`)).map((line) => questionSchema.parse(line).question),
  )
  return [...new Set(texts)]
}

function lines(file: string): readonly unknown[] {
  return readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line): unknown => JSON.parse(line))
}
