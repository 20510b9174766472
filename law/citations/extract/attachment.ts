import type { Citation, Reading } from '#law/citations/citation.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import type { ActAliases } from '#law/citations/names/aliases.ts'
import { impliedDesignator, isContainer, readDesignator, tableAt } from '#law/citations/provisions/designators.ts'
import { readFirst, readList } from '#law/citations/provisions/lists.ts'
import { afterOf } from '#law/citations/provisions/prefixed.ts'
import { readQualifier } from '#law/citations/provisions/qualifiers.ts'
import { readActAfter } from './act-after.ts'
import { readActFirst } from './act-first.ts'
import { cite } from './citations.ts'

const ATTACHED = /^(?:annex|appendix|supplement|schedule)$/
const LINKS = new Set("to zu zum zur a al all au aux l ' de del dell do da della bij van til k".split(' '))
const TABLE_LINKS = new Set([...LINKS, 'of', 'under', 'vor'])
const LINKS_MAX = 3

/** An annex or the like, with the part of it that stands before, and its number if it has one. */
type Attachment = NonNullable<ReturnType<typeof attachmentAt>>

/**
 * Reads what is attached to an act or a provision, so that the provision beside it is not what is named: `Anhang zu § 3
 * Abs. 3 UWG`, `Appendix A to § 1910.1200`, `point 2 of the Annex to Regulation (EU) 2020/999`.
 */
export function readAttachment(tokens: TokenStream, at: number, aliases: ActAliases): Reading | undefined {
  const attachment = attachmentAt(tokens, at)
  if (attachment === undefined) return undefined
  const { designator, inner, number, end } = attachment
  let index = end
  const isOfTable = designator.kind === 'appendix' && tableAt(tokens, designator.end - 1) !== undefined
  const links = isOfTable ? TABLE_LINKS : LINKS
  while (index < end + LINKS_MAX && links.has(tokens.text(index))) index += 1
  const reading = index === end ? undefined : readHost(tokens, index, aliases)
  const [host] = reading?.citations ?? []
  if (reading !== undefined && host !== undefined && (host.path.length > 0 || isOfTable))
    return { ...reading, citations: [{ ...attached(host, attachment, at), to: reading.end }] }
  const isOnly = designator.kind === 'annex' || (designator.kind === 'schedule' && inner.length > 0)
  if (number.length > 0 || !isOnly) return undefined
  const after = readActAfter(tokens, end, designator, aliases)
  if (after === 'non-statutory' || (after === undefined && end < tokens.length)) return undefined
  const path = [designator.kind, ...inner]
  const to = after?.end ?? end
  const confidence = after === undefined ? 'needs act' : 'certain'
  const only: Citation = { from: at, to, kind: designator.kind, path, act: after?.act, confidence, pointed: false }
  return { citations: [only], end: to }
}

/** The provision under which something hangs. */
function readHost(tokens: TokenStream, at: number, aliases: ActAliases): Reading | undefined {
  const designator = readDesignator(tokens, at)
  const elements =
    designator === undefined || isContainer(designator.kind) ? [] : readList(tokens, designator).slice(0, 1)
  if (designator === undefined || elements.length === 0) return readActFirst(tokens, at, aliases)
  return cite(tokens, { designator, elements }, undefined, aliases, 'certain')
}

function attachmentAt(tokens: TokenStream, at: number) {
  const part = readQualifier(tokens, at)
  const start = part === undefined ? at : (afterOf(tokens, part.end) ?? at)
  const inner = (part?.parts ?? []).map(({ text }) => text)
  const table = tableAt(tokens, start)
  if (table !== undefined) {
    const { name, end } = table
    return { designator: impliedDesignator('appendix', start + 1), inner, number: [name], end }
  }
  const designator = readDesignator(tokens, start)
  if (designator === undefined || !ATTACHED.test(designator.kind)) return undefined
  const first = readFirst(tokens, designator)
  const number = (first?.parts ?? []).map(({ text }, index) => (index === 0 ? `${designator.kind}-${text}` : text))
  return { designator, inner, number, end: first?.to ?? designator.end }
}

/** In Germany, annexes are counted in the act; elsewhere in the provision that they hang under. */
function attached(citation: Citation, { designator, inner, number }: Attachment, from: number): Citation {
  const [name = designator.kind, ...rest] = number
  const { act, path, pointed } = citation
  if (act?.startsWith('de:') === true) return { ...citation, from, kind: 'annex', path: [name, ...rest, ...inner] }
  // `1910.1200` is section 1200 of its part.
  if (path.length === 0) return { ...citation, from, kind: 'appendix', path: [name, ...rest, ...inner] }
  const length = pointed ? 2 : 1
  const own = `${path[length - 1] ?? ''}-${name}`
  return { ...citation, from, path: [...path.slice(0, length - 1), own, ...rest, ...inner] }
}
