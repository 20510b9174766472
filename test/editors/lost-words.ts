import type { ImportReport } from '#law/import/report/report.ts'
import type { Pair, Violation } from './oracle.ts'
import { parseMarkdown } from './alterations/markdown-file.ts'

/** Letters and digits in one run, so that markup and line breaks do not tell texts apart. */
export function squeezed(text: string): string {
  return text.normalize('NFKC').replaceAll(/[^\p{L}\p{N}]+/gu, '')
}

/** Whether the report of an import shows a text that no passage holds. */
export function isReported({ omissions, entries }: ImportReport, text: string): boolean {
  const wanted = squeezed(text)
  return [...omissions, ...entries].some((entry) => squeezed(entry.text ?? '').includes(wanted))
}

const RUN = 40

/**
 * Returns the lines of the sources that no passage serves and the report does not list. Each line is looked for in runs
 * of letters, because a passage may end within a line.
 */
export function* lostWords({ candidate, after }: Pair): Generator<Violation> {
  const { sources, report } = candidate
  const served = squeezed(
    after.passages.map(({ text, heading, document }) => `${heading} ${document['title']} ${text}`).join(' '),
  )
  const places = [...report.entries, ...report.omissions, ...report.losses]
  const files = new Set(
    report.losses.flatMap(({ source, reason }) => (/nothing of the file/.test(reason) ? [source] : [])),
  )
  const listed = new Set(places.flatMap(({ source, line, id }) => [`${source}:${line}`, `${source}#${id}`]))
  for (const [source, text] of sources.files)
    for (const { line, id, law } of sources.format === 'jsonl' ? recordLines(text) : markdownLines(text)) {
      const missing = runsOf(law).find((run) => !served.includes(run))
      if (
        missing === undefined ||
        files.has(source) ||
        listed.has(`${source}:${line}`) ||
        listed.has(`${source}#${id}`) ||
        isReported(report, missing)
      )
        continue
      yield { rule: 'each line of the sources is served or reported', what: `${source}:${line}: ${law.slice(0, 80)}` }
    }
}

/** The beginning, the middle and the end of a line. */
function runsOf(line: string): readonly string[] {
  const whole = squeezed(line)
  if (whole.length <= RUN) return [whole]
  const middle = Math.floor((whole.length - RUN) / 2)
  return [whole.slice(0, RUN), whole.slice(middle, middle + RUN), whole.slice(-RUN)]
}

interface LawLine {
  /** From 1. */
  readonly line: number
  /** Anchor or id; empty where none is stated. */
  readonly id: string
  readonly law: string
}

function* recordLines(text: string): Generator<LawLine> {
  for (const [at, line] of text.split('\n').entries()) {
    const record = parsedRecord(line)
    if (record !== undefined) for (const law of record.text.split('\n')) yield { line: at + 1, id: record.id, law }
  }
}

function parsedRecord(line: string): { readonly id: string; readonly text: string } | undefined {
  try {
    const { id, text } = JSON.parse(line) as { readonly id?: unknown; readonly text?: unknown }
    return typeof text === 'string' ? { id: String(id), text } : undefined
  } catch {
    return undefined
  }
}

/** Lines of the body, without marks of headings and anchors. */
function* markdownLines(text: string): Generator<LawLine> {
  const { front, head, provisions } = parseMarkdown(text)
  let line = front.length + 3
  for (const part of [head, ...provisions]) {
    const first = line
    const id = /^### .*\{#([^}]*)\}/.exec(part)?.[1] ?? ''
    for (const law of part.split('\n')) {
      if (/\S/.test(law)) yield { line: first, id, law: law.replaceAll(/\{#[^}]*\}|&#?\w+;|\]\([^)]*\)/g, '') }
      line++
    }
    line--
  }
}
