import { z } from 'zod'

const recordSchema = z.looseObject({ metadata: z.record(z.string(), z.unknown()).nullish() })

/**
 * Parses a line of JSONL. Numbers that are an id or metadata become the text by which they are written: an id above
 * 2^53 stays exact, and `1.10` stays `1.10`. Returns undefined for text that is not JSON.
 */
export function parseRecordJson(text: string): unknown {
  try {
    const parsed: unknown = JSON.parse(text)
    const record = recordSchema.safeParse(parsed)
    if (!record.success || !holdsNumber(record.data)) return parsed
    const { id, _id, metadata } = recordSchema.parse(JSON.parse(text, asWritten))
    return { ...record.data, id, _id, metadata }
  } catch {
    return undefined
  }
}

function holdsNumber({ id, _id, metadata }: z.infer<typeof recordSchema>): boolean {
  return [id, _id, ...Object.values(metadata ?? {}).flat()].some((value) => typeof value === 'number')
}

/** A reviver of `JSON.parse`, which passes the source text of primitive values. */
function asWritten(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === 'number' ? (context?.source ?? String(value)) : value
}
