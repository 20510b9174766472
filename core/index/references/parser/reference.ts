/**
 * A provision of an act: the act's canonical id, and the parts of the provision, outermost first.
 * `act` is undefined where a query names a provision without its act ("§ 433"); an empty `path` is the act as a whole.
 */
export interface Reference {
  readonly act: string | undefined
  readonly path: readonly string[]
}

/** A reference as a query writes it: `text` is `query.slice(start, end)`, offsets in UTF-16 units. */
export interface ExplicitReference {
  readonly text: string
  readonly start: number
  readonly end: number
  readonly reference: Reference
}

/** `cfr:12/1003#2/g/1`; `*#433` when the act is not known. Equal references have equal forms, and only they. */
export function canonicalReference(reference: Reference): string {
  const path = reference.path.length === 0 ? '' : `#${reference.path.join('/')}`
  return `${reference.act ?? '*'}${path}`
}

/**
 * The provisions that hold this one, nearest first, ending with the act itself when it is known; never the reference
 * itself.
 */
export function ancestorsOf(reference: Reference): Reference[] {
  const shortest = reference.act === undefined ? 1 : 0
  const ancestors: Reference[] = []
  for (let length = reference.path.length - 1; length >= shortest; length -= 1) {
    ancestors.push({ act: reference.act, path: reference.path.slice(0, length) })
  }
  return ancestors
}
