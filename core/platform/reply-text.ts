/**
 * Reads the body of an HTTP reply as UTF-8. Bytes are counted after decompression.
 * @returns undefined for a body of more than `bytesMax`, whose rest is not read.
 */
export async function replyText(reply: Response, bytesMax: number): Promise<string | undefined> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const read of reply.body ?? []) {
    const piece: unknown = read
    if (!(piece instanceof Uint8Array)) continue
    bytes += piece.length
    if (bytes > bytesMax) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}
