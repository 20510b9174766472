/**
 * A provision of an act: the act's canonical id, and the parts of the provision, outermost first. `act` is undefined if
 * a query names a provision without its act ("§ 433"). An empty `path` is the act as a whole.
 */
export interface Reference {
  readonly act: string | undefined
  readonly path: readonly string[]
}

/** A reference as written in a query: `text` is `query.slice(start, end)`, offsets in UTF-16 units. */
export interface ExplicitReference {
  readonly text: string
  readonly start: number
  readonly end: number
  readonly reference: Reference
}

/** `cfr:12/1003#2/g/1`; `*#433` when the act is not known. Forms are equal if and only if the references are. */
export function canonicalReference(reference: Reference): string {
  const path = reference.path.length === 0 ? '' : `#${reference.path.join('/')}`
  return `${reference.act ?? '*'}${path}`
}

/**
 * Returns the provisions that contain this one, nearest first, and the act last if it is known. The reference itself is
 * not included.
 */
export function ancestorsOf(reference: Reference): Reference[] {
  const shortest = reference.act === undefined ? 1 : 0
  const ancestors: Reference[] = []
  for (let length = reference.path.length - 1; length >= shortest; length -= 1) {
    ancestors.push({ act: reference.act, path: reference.path.slice(0, length) })
  }
  return ancestors
}
