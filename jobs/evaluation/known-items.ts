import type { PassageRecord } from '#core/index/passages/record.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { EVALUATION_BOUNDS } from '#jobs/evaluation/bounds.ts'
import { queryWithQrels, type QueryWithQrels } from './questions.ts'

/**
 * Makes known-item questions for a version without a question set: at most 200 passages in force, each asked for by its
 * heading and opening words. They measure whether the version finds its own passages, not how well it understands
 * questions. The sample depends on the passages alone: those with the smallest ids, which are hashes of their content.
 * Passages whose text occurs twice are excluded. Short texts make poor questions, so they are asked for only where there
 * is nothing else.
 * @param passages reads the passages again on each call.
 */
export async function sampleKnownItems(passages: () => AsyncIterable<PassageRecord>, day: string) {
  const { evaluationSampleMax, extractCharactersMin: min, extractCharactersMax: max } = EVALUATION_BOUNDS
  const long = createBottomKSample<KnownItem>(evaluationSampleMax)
  const short = createBottomKSample<KnownItem>(evaluationSampleMax)
  for await (const passage of passages()) {
    const { chunk_id: id, heading, text, citation } = passage
    if (!long.takes(id) || !isServed(passage, day)) continue
    const extract = excerptOf(text, { min, max })
    const item = { id, text: questionOf(heading, extract), passage: text, label: citation.label }
    if (extract.length < min) short.add(item)
    else long.add(item)
  }
  const questions = await unrepeated(long.items, passages)
  return questions.length > 0 ? questions : await unrepeated(short.items, passages)
}

async function unrepeated(chosen: readonly KnownItem[], passages: () => AsyncIterable<PassageRecord>) {
  if (chosen.length === 0) return []
  const sources = await sourcesByText(new Set(chosen.map(({ passage }) => passage)), passages())
  return chosen.flatMap(({ id, text, passage, label }) => {
    const [source, ...others] = sources.get(passage) ?? []
    if (source === undefined || others.length > 0) return []
    return [{ ...queryWithQrels({ id, text, relevant: [source] }), answerable: undefined, quoted: true, label }]
  })
}

export type KnownItemQuestion = QueryWithQrels & { readonly label: string }

type KnownItem = Pick<KnownItemQuestion, 'id' | 'text' | 'label'> & { readonly passage: string }

async function sourcesByText(texts: ReadonlySet<string>, passages: AsyncIterable<PassageRecord>) {
  const sources = new Map<string, string[]>()
  for await (const { text, source_id: source } of passages) {
    if (!texts.has(text)) continue
    const known = sources.get(text) ?? []
    if (!known.includes(source)) known.push(source)
    sources.set(text, known)
  }
  return sources
}

/** Whether a request of the day can be served the passage: it is verified and in force. */
export function isServed(passage: PassageRecord, day: string): boolean {
  return (
    passage.metadata.verification_status === 'verified' &&
    passage.in_force_from <= day &&
    (passage.in_force_to === null || day < passage.in_force_to)
  )
}

/** Joins heading and extract, heading first as in a user's question, cut to the length that a caller may send. */
function questionOf(heading: string, extract: string): string {
  return [...`${heading} ${extract}`.trim()].slice(-SEARCH_BOUNDS.queryCharactersMax).join('')
}

/** Says why a version has no known items. */
export async function withoutKnownItems(passages: AsyncIterable<PassageRecord>, day: string): Promise<string> {
  let [all, verified, served] = [0, 0, 0]
  for await (const passage of passages) {
    all += 1
    verified += Number(passage.metadata.verification_status === 'verified')
    served += Number(isServed(passage, day))
  }
  return served > 0
    ? `each text of the ${served} passages that may be served on ${day} is in several records`
    : `none of ${all} passages may be served on ${day}: ${all - verified} are not verified, and ${verified} not in force`
}

/**
 * Creates a sample of the items of a stream with the smallest ids, in their order. Ids that are hashes of contents give
 * the same sample in any order.
 * @param count most items that it keeps; at least 1.
 */
export function createBottomKSample<Item extends { readonly id: string }>(count: number) {
  const items: Item[] = []
  const takes = (id: string): boolean => {
    const last = items.at(-1)
    return items.length < count || last === undefined || id < last.id
  }
  return {
    items,
    /** Whether an item with this id would be kept now. */
    takes,
    add(item: Item) {
      if (!takes(item.id)) return
      const at = items.findIndex(({ id }) => item.id < id)
      items.splice(at === -1 ? items.length : at, 0, item)
      if (items.length > count) items.pop()
    },
  }
}

/**
 * Returns the beginning of a text in one line, cut at a space where one is within the bounds.
 * @param bounds least and most UTF-16 units of a text that is cut.
 */
export function excerptOf(text: string, { min, max }: { readonly min: number; readonly max: number }): string {
  const plain = text.replaceAll(/\s+/gu, ' ').trim()
  if (plain.length <= max) return plain
  const space = plain.lastIndexOf(' ', max)
  return plain.slice(0, space < min ? max : space).toWellFormed()
}
