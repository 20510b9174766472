import type { TextPart } from '../parts/parts.ts'
import type { SourceRecord } from '../record/record.ts'
import { withoutSpace } from '#law/readers/text.ts'

type Quote = Pick<SourceRecord, 'text'> & { readonly captured: Pick<SourceRecord['captured'], 'format' | 'text'> }

/**
 * Whether the text of a record stands in the captured text of its source, apart from white space and comments, and each
 * line of a lead-in too. It reads the captured text without the parser that gave the record. The parts of the text are
 * known to be the text (`stager.ts`).
 */
export function isQuoteVerified({ captured, text }: Quote, parts: readonly TextPart[]): boolean {
  const leadIns = [...new Set(parts.flatMap(leadInOf))].map(withoutSpace)
  return readingsOf(captured).some((reading) => {
    if (leadIns.length === 0 && reading.includes(text)) return true
    const source = withoutSpace(reading)
    return source.includes(withoutSpace(text)) && leadIns.every((line) => source.includes(line))
  })
}

/** The lines before the line `[…]`. */
function leadInOf({ text, own, leadIn }: TextPart): readonly string[] {
  return leadIn === 'repeated' ? text.slice(0, -own.length).trim().split('\n').slice(0, -1) : []
}

const JSON_ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', f: '\f', b: '\b' }

function readingsOf({ format, text }: Quote['captured']): readonly string[] {
  switch (format) {
    case 'jsonl':
      return [
        text.replaceAll(/\\(?:u([0-9a-fA-F]{4})|(.))/g, (_escape, code: string | undefined, letter: string) =>
          code === undefined ? (JSON_ESCAPES[letter] ?? letter) : String.fromCharCode(Number.parseInt(code, 16)),
        ),
      ]
    case 'markdown':
      return [text, text.replaceAll(/<!--(?:-?>|[\s\S]*?-->)/g, '')]
    case 'law':
      return [text]
    default:
      return format satisfies never
  }
}
