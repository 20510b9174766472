import { isUtf8 } from 'node:buffer'
import { z } from 'zod'
import { contextOf } from '#core/index/passages/selector.ts'
import { IMPORT_BOUNDS } from '../bounds.ts'
import { linesOf, type Line } from './lines.ts'
import { parseRecordJson, repeatsKey, scalarsOf, statedFields } from './record-json.ts'
import type { SourceItem } from './record.ts'
import type { PlaceOf } from '#law/readers/places.ts'
import { codePointsOf, isLongerThan, unstorable } from '#law/readers/text.ts'

const identifier = z.union([z.string(), z.number()]).transform(String)
const lineSchema = z.looseObject({
  id: identifier.optional(),
  _id: identifier.optional(),
  title: z.string().nullish(),
  text: z.string(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
})

/**
 * Yields the records of a BEIR-style `corpus.jsonl`: one object per line with `id` or `_id`, `text`, and optionally
 * `title` and `metadata`. Numbers are taken as they are written. Blank lines are skipped.
 */
export async function* jsonlRecords(path: string, signal?: AbortSignal): AsyncGenerator<SourceItem> {
  for await (const line of linesOf(path, IMPORT_BOUNDS.lineBytesMax, signal)) {
    const item = itemOf(line)
    if (item !== undefined) yield item
  }
}

function itemOf({ number: line, offset, bytes }: Line): SourceItem | undefined {
  if (bytes === undefined)
    return { kind: 'fault', line, reason: `line longer than ${IMPORT_BOUNDS.lineBytesMax} bytes` }
  if (!isUtf8(bytes)) return { kind: 'fault', line, reason: 'not valid UTF-8' }
  const text = bytes.toString('utf8')
  if (text.trim() === '') return undefined
  const fault = (reason: string, id?: string): SourceItem => ({ kind: 'fault', line, id, reason, text })
  const parsed = parseRecordJson(text)
  if (parsed === undefined) return fault('not valid JSON')
  if (repeatsKey(text)) return fault('an object has the same key twice')
  const shaped = lineSchema.safeParse(parsed)
  const id = shaped.data?.id ?? shaped.data?._id
  if (!shaped.success || id === undefined || id === '')
    return fault('not an object with "id" or "_id" and "text" as strings')
  if (isLongerThan(id, IMPORT_BOUNDS.sourceIdCharactersMax))
    return fault(`id longer than ${IMPORT_BOUNDS.sourceIdCharactersMax} characters`)
  if (unstorable(id) !== undefined) return fault(`id ${unstorable(id)}`)
  const metadata = shaped.data.metadata ?? {}
  const others = Object.entries(shaped.data).filter(([name]) => !Object.hasOwn(lineSchema.shape, name))
  const record = {
    kind: 'record',
    line,
    id,
    title: (shaped.data.title ?? '').trim(),
    text: shaped.data.text,
    captured: { format: 'jsonl', text, place: placeIn(line, offset, shaped.data.text) },
    values: scalarsOf('metadata', metadata),
    stated: new Map([...statedFields(metadata), ...statedFields(Object.fromEntries(others), 'record.')]),
  } as const
  const flaw = [record.text, record.title, ...record.values.values()]
    .map(unstorable)
    .find((found) => found !== undefined)
  return flaw === undefined ? record : fault(flaw, id)
}

/** Returns a function that gives the place of a part of a record's text. */
function placeIn(line: number, offset: number, text: string): PlaceOf {
  let [at, characters] = [0, 0]
  const charactersTo = (unit: number): number => {
    if (unit < at) [at, characters] = [0, 0]
    characters += codePointsOf(text.slice(at, unit))
    at = unit
    return characters
  }
  return (start, end) => ({
    type: 'JsonPointerSelector',
    line,
    offset,
    pointer: '/text',
    start: charactersTo(start),
    end: charactersTo(end),
    ...contextOf(text, start, end),
  })
}
