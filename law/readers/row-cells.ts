import { attribute, elementsOf, type MarkupElement } from './tree.ts'

const COLUMNS_MAX = 200
const ROWS_MAX = 10_000

/** Where the cells of a table stand: columns before a cell that cells of rows above fill, and columns of the cell. */
export class RowCells {
  readonly #before = new Map<MarkupElement, number>()
  readonly #read = new Set<MarkupElement>()

  /** The columns between a cell and the one before it that reach down from rows above. */
  skippedBefore(cell: MarkupElement): number {
    const rows = cell.parent?.parent
    if (rows !== undefined && !this.#read.has(rows)) this.#readRows(rows)
    return this.#before.get(cell) ?? 0
  }

  #readRows(parent: MarkupElement): void {
    this.#read.add(parent)
    /** Rows that a cell still fills below, by column. */
    let below: number[] = []
    for (const row of elementsOf(parent)) {
      const next = below.map((rows) => Math.max(0, rows - 1))
      let column = 0
      for (const cell of elementsOf(row)) {
        let skipped = 0
        for (; (below[column] ?? 0) > 0; column += 1) skipped += 1
        if (skipped > 0) this.#before.set(cell, skipped)
        const rows = spanOf(cell, 'rowspan', 'ROWSPAN', ROWS_MAX)
        for (const end = column + columnsOf(cell); column < end; column += 1) {
          for (let gap = next.length; gap < column; gap += 1) next[gap] = 0
          next[column] = rows - 1
        }
        if (column > COLUMNS_MAX) break
      }
      below = next
    }
  }
}

export function columnsOf(cell: MarkupElement): number {
  return spanOf(cell, 'colspan', 'COLSPAN', COLUMNS_MAX)
}

function spanOf(cell: MarkupElement, name: string, upper: string, most: number): number {
  const stated = Number(attribute(cell, name, upper) ?? 1)
  return Number.isSafeInteger(stated) && stated > 1 ? Math.min(stated, most) : 1
}
