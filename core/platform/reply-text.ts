/**
 * Reads the body of an HTTP reply as UTF-8. Bytes are counted as they come, so a body is decoded before.
 * @returns undefined for a body of more than `bytesMax`, whose rest is not read: its connection is closed.
 */
export async function replyText(
  body: AsyncIterable<unknown> | Iterable<unknown>,
  bytesMax: number,
): Promise<string | undefined> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of body) {
    if (!(piece instanceof Uint8Array)) continue
    bytes += piece.length
    if (bytes > bytesMax) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}
