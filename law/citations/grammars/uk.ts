import { numberedAct, type ActMention, readPattern } from '#law/citations/citation.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'

/** Reads `SI 2017/692`, `S.I. 2017 No. 692`, `2018 c. 12`, `legislation.gov.uk/ukpga/2018/12/section/12/1`. */
export function readUkAct(tokens: TokenStream, at: number): ActMention | undefined {
  return readInstrument(tokens, at) ?? readChapter(tokens, at) ?? readUri(tokens, at)
}

function readInstrument(tokens: TokenStream, at: number): ActMention | undefined {
  // `SSI 2017/692`, `SR 2017/692`, `S.I. No. 692 of 2017`: those of Scotland, Northern Ireland and Ireland.
  const other = /^(?:S|N|SI|SSI|SR|NISR|WSI)$/.test(tokens.raw(at)) ? readPattern(tokens, at, 'instrument') : undefined
  if (other !== undefined || (tokens.reads(at - 1, '.') && tokens.isGlued(at))) return other
  const index = tokens.afterAbbreviation(at, 'si')
  if (index === undefined || !tokens.isYear(index)) return undefined
  const isSlashed = tokens.reads(index + 1, '/')
  const numberAt = isSlashed ? index + 2 : tokens.skip(tokens.skip(tokens.skip(index + 1, ','), 'no'), '.')
  const number = tokens.digits(numberAt, 1, 5)
  if (number === undefined || numberAt === index + 1) return undefined
  return numberedAct(`uksi:${tokens.text(index)}/${number}`, numberAt + 1)
}

function readChapter(tokens: TokenStream, at: number): ActMention | undefined {
  if (!tokens.isYear(at) || !tokens.reads(at + 1, 'c') || !tokens.reads(at + 2, '.')) return undefined
  const chapter = tokens.digits(at + 3, 1, 3)
  return chapter === undefined ? undefined : numberedAct(`ukpga:${tokens.text(at)}/${chapter}`, at + 4)
}

const VALUE = String.raw`(?:\d{1,4}[a-z]{0,2}|[a-z]{1,4})(?![a-z\d])`
const KIND = '(?:section|regulation|article|schedule|paragraph|part|chapter)'
const URI = new RegExp(String.raw`^(ukpga|uksi|eur)/((?:1[89]|20)\d\d)/(\d{1,5})((?:/${KIND}/${VALUE}(?:/${VALUE})*)*)`)
const URI_PART = new RegExp(`/(?:(schedule|part|chapter)/|${KIND}/)?(${VALUE})`, 'g')

/** Reads an identifier of legislation.gov.uk. */
function readUri(tokens: TokenStream, at: number): ActMention | undefined {
  const found = tokens.reads(at + 1, '/') ? tokens.match(at, URI) : undefined
  if (found === undefined) return undefined
  const [, type, year, number, parts = ''] = found.groups
  const path = [...parts.matchAll(URI_PART)].map(([, kind, value = '']) => (kind ? `${kind}-${value}` : value))
  return { ...numberedAct(`${type}:${year}/${number}`, found.end), path }
}
