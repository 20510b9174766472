import { mkdir, open, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { parsedJson } from '#core/platform/json.ts'
import { BUILD_BOUNDS } from '#jobs/version-build/bounds.ts'
import { linesOf } from '#law/import/record/lines.ts'

const entrySchema = z.strictObject({
  /** SHA-256 (hex) of model, prompt and passage. */
  key: z.string().length(64),
  questions: z.array(z.string().min(1)).readonly(),
})
export type CachedQuestions = z.infer<typeof entrySchema>

/** Questions that a model wrote at an earlier time. */
export interface QuestionCache {
  /** Empty: it wrote none that can be used. */
  get(key: string): readonly string[] | undefined
  add(entries: readonly CachedQuestions[]): Promise<void>
  close(): Promise<void>
}

/**
 * Opens a file to which each reply is appended, so that a build that is killed pays for no passage twice. A line that
 * is no entry, as the last one of a killed build, is a miss. A file beyond the bound begins anew.
 */
export async function openQuestionCache(path: string): Promise<QuestionCache> {
  await mkdir(dirname(path), { recursive: true })
  const size = await stat(path).then(
    (found) => found.size,
    () => 0,
  )
  if (size > BUILD_BOUNDS.searchQuestionsBytesMax) await rm(path, { force: true })
  const file = await open(path, 'a')
  const known = new Map<string, readonly string[]>()
  for await (const { bytes } of linesOf(path, BUILD_BOUNDS.searchQuestionCacheLineBytesMax)) {
    const entry = entrySchema.safeParse(parsedJson(bytes?.toString('utf8') ?? ''))
    if (entry.success) known.set(entry.data.key, entry.data.questions)
  }
  return {
    get: (key) => known.get(key),
    async add(entries) {
      for (const { key, questions } of entries) known.set(key, questions)
      // The line break before the entries ends what a killed build left.
      await file.appendFile(`\n${entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')}`)
    },
    close: () => file.close(),
  }
}
