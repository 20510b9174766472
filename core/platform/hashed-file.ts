import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readFile, stat } from 'node:fs/promises'
import { sha256 } from './digest.ts'

export type FileDigest = Awaited<ReturnType<typeof digestFile>>

export type HashedFile = Awaited<ReturnType<typeof openHashedFile>>

const BUFFER_BYTES = 1024 * 1024

export async function openHashedFile(path: string) {
  const file = await open(path, 'wx')
  const hash = createHash('sha256')
  const buffer = Buffer.alloc(BUFFER_BYTES)
  let buffered = 0
  let total = 0
  let closed = false

  async function flush(bytes: Uint8Array): Promise<void> {
    hash.update(bytes)
    total += bytes.length
    let written = 0
    while (written < bytes.length) written += (await file.write(bytes, written)).bytesWritten
  }
  async function close(): Promise<void> {
    if (closed) return
    closed = true
    await file.close()
  }
  return {
    async write(bytes: Uint8Array) {
      if (buffered + bytes.length > BUFFER_BYTES) {
        await flush(buffer.subarray(0, buffered))
        buffered = 0
      }
      if (bytes.length >= BUFFER_BYTES) return flush(bytes)
      buffer.set(bytes, buffered)
      buffered += bytes.length
    },
    /** Flushes, fsyncs and closes. */
    async finish() {
      await flush(buffer.subarray(0, buffered))
      await file.sync()
      await close()
      return { bytes: total, sha256: hash.digest('hex') }
    },
    /** Closes without finishing; harmless after `finish`. */
    [Symbol.asyncDispose]: close,
  }
}

export async function writeHashed(path: string, pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>) {
  await using file = await openHashedFile(path)
  for await (const piece of pieces) await file.write(piece)
  return await file.finish()
}

/** Bytes of a file; 0 where there is none. */
export async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  )
}

/** Size and SHA-256 (lower-case hex) of an existing file; a large one is read as a stream. */
export async function digestFile(path: string, signal?: AbortSignal) {
  if ((await stat(path)).size <= BUFFER_BYTES) {
    const all = await readFile(path, { signal })
    return { bytes: all.length, sha256: sha256(all).toString('hex') }
  }
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of createReadStream(path, {
    highWaterMark: BUFFER_BYTES,
    ...(signal === undefined ? {} : { signal }),
  })) {
    if (!(chunk instanceof Uint8Array)) continue
    hash.update(chunk)
    bytes += chunk.length
  }
  return { bytes, sha256: hash.digest('hex') }
}
