import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { Sentence } from './judgements.ts'
import { textOfFile } from './text.ts'

const recordSchema = z.object({ id: z.string(), text: z.string() })

/** Where the corpora lie that the judged sentences come from. */
export const CORPORA_FOLDER = fileURLToPath(new URL('../../../../shared/data', import.meta.url))

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
  const texts = new Map<string, string>()
  for (const line of readFileSync(join(folder, corpus, 'corpus.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')) {
    const { id, text } = recordSchema.parse(JSON.parse(line))
    if (ids.has(id)) texts.set(id, text)
  }
  return texts
}
