/** Longer texts are not remembered, so that a memory is bounded in bytes too. */
const TEXT_UNITS_MAX = 16_384

/** Returns a function that remembers what `of` gave for so many texts. A full memory is cleared as a whole. */
export function memoized<Value>(of: (text: string) => Value, textsMax: number): (text: string) => Value {
  const memory = new Map<string, { readonly value: Value }>()
  return (text) => {
    if (text.length > TEXT_UNITS_MAX) return of(text)
    const known = memory.get(text)
    if (known !== undefined) return known.value
    if (memory.size >= textsMax) memory.clear()
    const value = of(text)
    memory.set(text, { value })
    return value
  }
}
