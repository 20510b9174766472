import { afterAbbreviation, digitsAt, reads, skip } from '#core/index/references/parser/lexer/tokens.ts'
import type { Token } from '#core/index/references/parser/lexer/tokens.ts'
import type { ActMention } from '#core/index/references/parser/names/act.ts'

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
export function readUkAct(tokens: readonly Token[], at: number): ActMention | undefined {
  return readInstrument(tokens, at) ?? readChapter(tokens, at) ?? readUri(tokens, at)
}

function readInstrument(tokens: readonly Token[], at: number): ActMention | undefined {
  const index = afterAbbreviation(tokens, at, 'si')
  const year = index === undefined ? undefined : readYear(tokens, index)
  if (index === undefined || year === undefined) return undefined
  const isSlashed = reads(tokens, index + 1, '/')
  const numberAt = isSlashed ? index + 2 : skip(tokens, skip(tokens, skip(tokens, index + 1, ','), 'no'), '.')
  const number = digitsAt(tokens, numberAt, 1, 5)
  if (number === undefined || (!isSlashed && numberAt === index + 1)) return undefined
  return { act: `uksi:${year}/${number}`, end: numberAt + 1, standalone: true, sections: undefined }
}

function readChapter(tokens: readonly Token[], at: number): ActMention | undefined {
  const year = readYear(tokens, at)
  if (year === undefined || !reads(tokens, at + 1, 'c') || !reads(tokens, at + 2, '.')) return undefined
  const chapter = digitsAt(tokens, at + 3, 1, 3)
  return chapter === undefined
    ? undefined
    : { act: `ukpga:${year}/${chapter}`, end: at + 4, standalone: true, sections: undefined }
}

/** Reads an identifier of legislation.gov.uk. */
function readUri(tokens: readonly Token[], at: number): ActMention | undefined {
  const type = tokens[at]?.text ?? ''
  const year = readYear(tokens, at + 2)
  const number = digitsAt(tokens, at + 4, 1, 5)
  if (
    !URI_TYPES.has(type) ||
    year === undefined ||
    number === undefined ||
    !reads(tokens, at + 1, '/') ||
    !reads(tokens, at + 3, '/')
  )
    return undefined
  const path: string[] = []
  let end = at + 5
  while (path.length < 8 && reads(tokens, end, '/')) {
    const prefix = URI_DESIGNATORS.get(tokens[end + 1]?.text ?? '')
    const value = prefix !== undefined && reads(tokens, end + 2, '/') ? end + 3 : end + 1
    const token = tokens[value]
    if (
      token === undefined ||
      (prefix === undefined && path.length === 0) ||
      !/^(?:\d{1,4}|[a-z]{1,4})$/.test(token.text)
    )
      break
    const suffix = tokens[value + 1]
    const isSuffixed = suffix?.glued === true && suffix.kind === 'word' && suffix.text.length <= 2
    path.push(`${prefix ?? ''}${token.text}${isSuffixed ? suffix.text : ''}`)
    end = value + (isSuffixed ? 2 : 1)
  }
  return { act: `${type}:${year}/${number}`, end, standalone: true, sections: undefined, path }
}

function readYear(tokens: readonly Token[], at: number): string | undefined {
  const year = digitsAt(tokens, at, 4, 4)
  return year !== undefined && /^(?:1[89]|20)\d\d$/.test(year) ? year : undefined
}
