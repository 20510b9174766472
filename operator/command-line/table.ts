/** Formats a cell: instants to the second in UTC, lists with commas, empty values as a dash. */
export function cell(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–'
  if (value instanceof Date) return value.toISOString().replace(/\.\d{3}Z$/, 'Z')
  if (Array.isArray(value)) return value.length === 0 ? '–' : value.map(cell).join(', ')
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  // Such characters of stored text could rewrite the terminal, or turn its order around.
  return typeof value === 'string' ? value.replaceAll(/[\p{Cc}\p{Bidi_Control}]/gu, ' ') : JSON.stringify(value)
}

/** The fields of columns like `id created_at verdict=review`. */
export type FieldsOf<Columns extends string> = Columns extends `${infer First} ${infer Others}`
  ? FieldsOf<First> | FieldsOf<Others>
  : Columns extends `${infer Field}=${string}`
    ? Field
    : Columns

/**
 * Renders rows under headings: text aligned left, numbers aligned right.
 * @param columns fields, separated by spaces. The heading is what follows `=`, else the name without `_at` or `_id`.
 * @param empty message, with the next step, when there is no row.
 */
export function table<Columns extends string>(
  rows: readonly { readonly [F in FieldsOf<Columns>]?: unknown }[],
  columns: Columns,
  empty = '',
): string {
  if (rows.length === 0) return empty
  const named = columns.split(' ').map((column) => column.split('='))
  const headings = named.map(([field = '', heading = field.replace(/_(?:at|id)$/, '')]) => heading.replaceAll('_', ' '))
  const values = rows.map((row: Readonly<Record<string, unknown>>) => named.map(([field = '']) => row[field]))
  const lines = [headings, ...values.map((row) => row.map(cell))]
  const numeric = headings.map((_, column) =>
    values.every((row) => typeof row[column] === 'number' || row[column] === null),
  )
  return aligned(lines, (column) => numeric[column] === true).join('\n')
}

/** Pads the cells of each column to one width. */
export function aligned(
  lines: readonly (readonly string[])[],
  isFlushRight: (column: number) => boolean,
): readonly string[] {
  const lengthOf = (text = ''): number => [...text].length
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => lengthOf(line[column]))))
  return lines.map((line) =>
    line
      .map((text, column) => {
        const pad = ' '.repeat((widths[column] ?? 0) - lengthOf(text))
        return isFlushRight(column) ? pad + text : text + pad
      })
      .join('  ')
      .trimEnd(),
  )
}

/** Renders one object with one field per line; nested objects are indented. */
export function fields(value: object, indent = ''): string {
  const entries = Object.entries(value)
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries
    .map(([name, inner]: [string, unknown]) => {
      const nested =
        inner !== null &&
        typeof inner === 'object' &&
        !Array.isArray(inner) &&
        !(inner instanceof Date) &&
        Object.keys(inner).length > 0
      return nested
        ? `${indent}${name}:\n${fields(inner, `${indent}  `)}`
        : `${indent}${`${name}:`.padEnd(width + 1)} ${cell(inner)}`
    })
    .join('\n')
}
