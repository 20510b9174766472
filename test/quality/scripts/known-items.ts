import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { testRows } from '#test/support/passages.ts'
import { EVERYTHING, searchable } from '#test/support/search.ts'

const passageSchema = z.strictObject({ id: z.string(), language: z.string(), text: z.string() })
const questionSchema = z.strictObject({ passage: z.string(), language: z.string(), question: z.string() })

/** A question of the set and the rank of its passage, from 1; Infinity if it is not among the first ten. */
export interface KnownItem {
  readonly language: string
  readonly question: string
  readonly passage: string
  readonly rank: number
}

const WANTED = 10

/** Asks every question of the set by words alone, in one version that holds the passages of all its languages. */
export async function askKnownItems(): Promise<readonly KnownItem[]> {
  const passages = linesOf('passages.jsonl', passageSchema)
  const rows = testRows({
    rows: passages.length,
    dimensions: 8,
    seed: 1,
    traits: (n) => ({ ...passages[n], heading: '', provision: passages[n]?.id ?? '' }),
  })
  const languages = [...new Set(passages.map(({ language }) => language))]
  const idOf = new Map(passages.map(({ id, text }) => [text, id]))
  const version = await searchable({ rows })
  try {
    const items: KnownItem[] = []
    for (const { passage, language, question } of linesOf('questions.jsonl', questionSchema)) {
      const { passages: found } = await version.ask({
        text: question,
        limit: WANTED,
        filters: { ...EVERYTHING, languages },
      })
      const rank = found.findIndex(({ text }) => idOf.get(text) === passage)
      items.push({ language, question, passage, rank: rank === -1 ? Infinity : rank + 1 })
    }
    return items
  } finally {
    version.close()
  }
}

export function languagesOfSet(): readonly string[] {
  return [...new Set(linesOf('questions.jsonl', questionSchema).map(({ language }) => language))].sort()
}

function linesOf<Line>(name: string, schema: z.ZodType<Line>): readonly Line[] {
  const lines = readFileSync(new URL(name, import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
  return lines.map((line) => schema.parse(JSON.parse(line)))
}
