import { READER_BOUNDS } from './bounds.ts'
import type { ReaderWarning } from './document.ts'
import { dayIn } from './format.ts'
import { descendants, textOf } from './tree.ts'
import type { MarkupElement } from './tree.ts'

/** Names of elements and attributes that hold a date. */
const NAME = /date|^(?:start|end|valid|from|until)$/i
/** A whole date in numbers. One that begins with 9999 is open. In an attribute the day may come first. */
const DATE = /^\s*(?!9999)(?:\d{4}-\d{2}-\d{2}|\d{8}\s*$)/
const DAY_FIRST = /^\s*\d{1,2}[./-]\d{1,2}[./-]\d{4}\s*$/

/** Warns of dates that a file states and that are no day, such as 31 April, or may be two, such as 02/03/2024. */
export function unreadDates(root: MarkupElement): readonly ReaderWarning[] {
  const warnings: ReaderWarning[] = []
  for (const element of descendants(root)) {
    for (const written of datesOf(element)) {
      if (dayIn(written) !== undefined) continue
      const { line } = element
      warnings.push({ message: `the date "${written.trim()}" is not read: state the day as YYYY-MM-DD`, line })
      if (warnings.length >= READER_BOUNDS.warningsMax) return warnings
    }
  }
  return warnings
}

function datesOf(element: MarkupElement): readonly string[] {
  const written: string[] = []
  for (const [name, value] of element.attributes)
    if (NAME.test(name) && (DATE.test(value) || DAY_FIRST.test(value))) written.push(value)
  const isDate = NAME.test(element.name) && element.children.every(({ kind }) => kind === 'text')
  const text = isDate ? textOf(element) : undefined
  if (text !== undefined && DATE.test(text)) written.push(text)
  return written
}
