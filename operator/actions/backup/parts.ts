import { createHash, randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { mkdir, readFile, readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline as pipe, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress, createZstdDecompress } from 'node:zlib'
import { Decrypter, Encrypter, identityToRecipient } from 'age-encryption'
import { z } from 'zod'
import { renameDurably } from '#core/platform/durable-file.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { digestFile } from '#core/platform/hashed-file.ts'

/**
 * Parts of backups in a folder: `parts/<recipient>/<2 hex>/<SHA-256 of the content>`, each compressed by zstd and
 * encrypted in the format of age, so that its own tools read them too. A part that is there is complete and never
 * written again: backups share what did not change.
 */

export const partSchema = z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/), bytes: z.int().nonnegative() })
/** Of the content as it was. */
export type Part = z.infer<typeof partSchema>

/** Reads the private half of a pair, from the file that `age-keygen` and `operator backup key` write. */
export async function readIdentity(path: string): Promise<string> {
  const [secret] = /^AGE-SECRET-KEY-1[0-9A-Z]{58}$/m.exec(await readFile(path, 'utf8')) ?? []
  if (secret === undefined) throw new OperatorError(`${path} has no line of an age identity, AGE-SECRET-KEY-1….`)
  return secret
}

const fileOf = (folder: string, recipient: string, sha256: string): string =>
  join(folder, 'parts', recipient, sha256.slice(0, 2), sha256)

/** Adds a content that nobody has hashed yet. */
export async function addStream(folder: string, recipient: string, source: Readable): Promise<Part> {
  const temporary = join(folder, 'parts', recipient, `${randomUUID()}.tmp`)
  await mkdir(dirname(temporary), { recursive: true, mode: 0o700 })
  const meter = createMeter()
  async function* sealed(bytes: AsyncIterable<Uint8Array>) {
    const encrypter = new Encrypter()
    encrypter.addRecipient(recipient)
    yield* await encrypter.encrypt(ReadableStream.from(bytes))
  }
  const file = createWriteStream(temporary, { flags: 'wx', mode: 0o600, flush: true })
  await pipeline(source, meter.through, createZstdCompress(), sealed, file)
  const part = meter.part()
  const path = fileOf(folder, recipient, part.sha256)
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await renameDurably(temporary, path)
  return part
}

/** Adds a file unless a part has its content. */
export async function addFile(folder: string, recipient: string, path: string): Promise<Part> {
  const part = await digestFile(path)
  if (existsSync(fileOf(folder, recipient, part.sha256))) return part
  return addStream(folder, recipient, createReadStream(path))
}

/** The content of a part. @throws OperatorError before the end where it is missing or altered. */
export async function* readPart(folder: string, identity: string, { sha256, bytes }: Part) {
  const path = fileOf(folder, await identityToRecipient(identity), sha256)
  if (!existsSync(path)) throw new OperatorError(`Part ${sha256} is missing: take another backup.`)
  const meter = createMeter()
  async function* opened(file: AsyncIterable<Uint8Array>) {
    const decrypter = new Decrypter()
    decrypter.addIdentity(identity)
    yield* await decrypter.decrypt(ReadableStream.from(file))
  }
  const altered = `Part ${sha256} is altered: take another backup.`
  try {
    yield* meter.through(pipe(createReadStream(path), opened, createZstdDecompress(), () => undefined))
  } catch (cause) {
    throw new OperatorError(altered, { cause })
  }
  const read = meter.part()
  if (read.sha256 !== sha256 || read.bytes !== bytes) throw new OperatorError(altered)
}

function createMeter() {
  const hash = createHash('sha256')
  let bytes = 0
  return {
    async *through(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const piece of source) {
        hash.update(piece)
        bytes += piece.length
        yield piece
      }
    },
    part: (): Part => ({ sha256: hash.digest('hex'), bytes }),
  }
}

/** Removes all but `<recipient>/<SHA-256>` of `held`, also what an interrupted backup left. */
export async function removeOtherParts(folder: string, held: ReadonlySet<string>): Promise<void> {
  for (const recipient of await readdir(join(folder, 'parts')))
    for (const entry of await readdir(join(folder, 'parts', recipient), { recursive: true, withFileTypes: true }))
      if (entry.isFile() && !held.has(`${recipient}/${entry.name}`)) await rm(join(entry.parentPath, entry.name))
}
