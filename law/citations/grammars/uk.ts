import type { ActMention } from '#law/citations/citation.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'

const URI_TYPES = new Set(['ukpga', 'uksi', 'eur'])
const URI_DESIGNATORS: ReadonlyMap<string, string> = new Map([
  ['section', ''],
  ['regulation', ''],
  ['article', ''],
  ['schedule', 'schedule-'],
  ['paragraph', ''],
  ['part', 'part-'],
  ['chapter', 'chapter-'],
])

/** Reads `SI 2017/692`, `S.I. 2017 No. 692`, `2018 c. 12`, `legislation.gov.uk/ukpga/2018/12/section/12/1`. */
export function readUkAct(tokens: TokenStream, at: number): ActMention | undefined {
  return readInstrument(tokens, at) ?? readChapter(tokens, at) ?? readUri(tokens, at)
}

function readInstrument(tokens: TokenStream, at: number): ActMention | undefined {
  const index = tokens.afterAbbreviation(at, 'si')
  if (index === undefined || !tokens.isYear(index)) return undefined
  const isSlashed = tokens.reads(index + 1, '/')
  const numberAt = isSlashed ? index + 2 : tokens.skip(tokens.skip(tokens.skip(index + 1, ','), 'no'), '.')
  const number = tokens.digits(numberAt, 1, 5)
  if (number === undefined || (!isSlashed && numberAt === index + 1)) return undefined
  return { act: `uksi:${tokens.text(index)}/${number}`, end: numberAt + 1, standalone: true, sections: undefined }
}

function readChapter(tokens: TokenStream, at: number): ActMention | undefined {
  if (!tokens.isYear(at) || !tokens.reads(at + 1, 'c') || !tokens.reads(at + 2, '.')) return undefined
  const chapter = tokens.digits(at + 3, 1, 3)
  return chapter === undefined
    ? undefined
    : { act: `ukpga:${tokens.text(at)}/${chapter}`, end: at + 4, standalone: true, sections: undefined }
}

/** Reads an identifier of legislation.gov.uk. */
function readUri(tokens: TokenStream, at: number): ActMention | undefined {
  const type = tokens.text(at)
  const number = tokens.digits(at + 4, 1, 5)
  if (
    !URI_TYPES.has(type) ||
    !tokens.isYear(at + 2) ||
    number === undefined ||
    !tokens.reads(at + 1, '/') ||
    !tokens.reads(at + 3, '/')
  )
    return undefined
  const path: string[] = []
  let end = at + 5
  while (path.length < 8 && tokens.reads(end, '/')) {
    const prefix = URI_DESIGNATORS.get(tokens.text(end + 1))
    const value = prefix !== undefined && tokens.reads(end + 2, '/') ? end + 3 : end + 1
    const token = tokens.get(value)
    if (
      token === undefined ||
      (prefix === undefined && path.length === 0) ||
      !/^(?:\d{1,4}|[a-z]{1,4})$/.test(token.text)
    )
      break
    const suffix = tokens.get(value + 1)
    const isSuffixed = suffix?.glued === true && suffix.kind === 'word' && suffix.text.length <= 2
    path.push(`${prefix ?? ''}${token.text}${isSuffixed ? suffix.text : ''}`)
    end = value + (isSuffixed ? 2 : 1)
  }
  return { act: `${type}:${tokens.text(at + 2)}/${number}`, end, standalone: true, sections: undefined, path }
}
