/** A row of a table: the ranges of its cells, by offsets in the file; an empty cell is an empty range. */
export interface MarkdownRow {
  /** Line after the row, from 0. */
  readonly end: number
  readonly cells: readonly { readonly line: number; readonly from: number; readonly to: number }[]
}

const ROW = /^\*[ \t]+\*(?:[ \t]+(?=\S)|[ \t]*$)/
const CELL = /^ {4}\*(?:[ \t]+(?=\S)|[ \t]*$)/
const MORE = /^ {8,}\S/

/**
 * Reads a row of a table as German federal law in Markdown has it: a list whose items are lists of cells. Returns
 * undefined where none begins.
 * @param starts offset of each line, and of the end of the file.
 */
export function markdownRow(
  decoded: string,
  starts: readonly number[],
  from: number,
  to: number,
): MarkdownRow | undefined {
  const lineAt = (line: number): string => decoded.slice(starts[line], starts[line + 1]).replace(/[\r\n]+$/, '')
  const [opened] = ROW.exec(lineAt(from)) ?? []
  if (opened === undefined) return undefined
  const cells = [
    { line: from, from: (starts[from] ?? 0) + opened.length, to: (starts[from] ?? 0) + lineAt(from).length },
  ]
  let end = from + 1
  for (let line = end; line < to; line += 1) {
    const text = lineAt(line)
    if (text.trim() === '') continue
    const [mark] = CELL.exec(text) ?? []
    const start = starts[line] ?? 0
    const last = cells.at(-1)
    if (mark !== undefined) cells.push({ line, from: start + mark.length, to: start + text.length })
    else if (MORE.test(text) && last !== undefined) last.to = start + text.length
    else break
    end = line + 1
  }
  return { end, cells }
}
