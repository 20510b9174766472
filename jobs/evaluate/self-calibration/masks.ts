/** Rows before and after a passage that are masked where its document holds most of the version. */
const NEIGHBOURHOOD_ROWS = 50

/**
 * Returns the mask of a row: a bitset (bit row % 8 of byte row / 8) of the rows that remain. The whole document of the
 * row is masked. Where the document holds most of the version, only its rows near the row are.
 * @param documents the number of each row's document.
 */
export function createMasks(documents: Uint32Array): (row: number) => Uint8Array {
  const sizes = new Map<number, number>()
  for (const document of documents) sizes.set(document, (sizes.get(document) ?? 0) + 1)
  return (row) => {
    const document = documents[row]
    const holdsMost = document !== undefined && (sizes.get(document) ?? 0) > documents.length / 2
    const reach = holdsMost ? NEIGHBOURHOOD_ROWS : documents.length
    const [from, to] = [row - reach, row + reach]
    const bits = new Uint8Array(Math.ceil(documents.length / 8))
    for (let at = 0; at < documents.length; at++) {
      if (documents[at] === document && at >= from && at <= to) continue
      bits[at >> 3] = (bits[at >> 3] ?? 0) | (1 << (at & 7))
    }
    return bits
  }
}
