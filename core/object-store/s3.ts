import { randomUUID } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type * as S3 from '@aws-sdk/client-s3'
import { sha256 } from '#core/platform/digest.ts'
import { StoreError } from '#core/platform/errors.ts'
import { forEachConcurrently } from '#core/platform/for-each-concurrently.ts'
import { timeLimit } from '#core/platform/with-timeout.ts'
import { OBJECT_BOUNDS } from './bounds.ts'
import { faultOf, orUndefined } from './fault.ts'

/** An object under the key stays. */
const NEW = { IfNoneMatch: '*' } as const

/** A file to send, with its size and SHA-256 (hex), which the object keeps in its metadata. */
export interface SentFile {
  readonly path: string
  readonly bytes: number
  readonly sha256: string
}

export type ObjectLimits = Readonly<Record<keyof typeof OBJECT_BOUNDS, number>>

/**
 * Opens a bucket of S3, or of a server that speaks its protocol. The SDK finds endpoint, region and credentials as its
 * manual says; it is loaded here alone.
 * @param url `s3://bucket/prefix`.
 */
export async function openObjectStore(url: string, limits: ObjectLimits = OBJECT_BOUNDS): Promise<ObjectStore> {
  const sdk = await import('@aws-sdk/client-s3')
  const client = new sdk.S3Client({
    // Servers other than those of AWS have one host name, and AWS takes this form too.
    forcePathStyle: true,
    maxAttempts: 1,
    requestHandler: { connectionTimeout: limits.connectTimeoutMs },
  })
  return new ObjectStore(url, sdk, client, limits)
}

/**
 * Objects below a prefix of a bucket. Every call has a deadline, and is repeated a few times where that may help.
 * @throws StoreError from each method, with one sentence.
 */
export class ObjectStore {
  readonly limits: ObjectLimits
  readonly #bucket: string
  readonly #prefix: readonly string[]
  readonly #sdk: typeof S3
  readonly #client: S3.S3Client

  constructor(url: string, sdk: typeof S3, client: S3.S3Client, limits: ObjectLimits) {
    const { hostname, pathname } = new URL(url)
    this.#bucket = hostname
    this.#prefix = pathname.split('/').filter((part) => part !== '')
    this.#sdk = sdk
    this.#client = client
    this.limits = limits
  }

  /** @returns undefined where there is no such object. */
  async read(key: string): Promise<{ readonly bytes: Buffer; readonly tag: string } | undefined> {
    return this.#call(key, async (options) => {
      const get = new this.#sdk.GetObjectCommand(this.#at(key))
      const reply = await this.#client.send(get, options).catch(orUndefined(404))
      if (reply === undefined) return undefined
      if ((reply.ContentLength ?? 0) > this.limits.smallBytesMax) throw new StoreError(`${key} is too large.`)
      return { bytes: Buffer.from((await reply.Body?.transformToByteArray()) ?? []), tag: reply.ETag ?? '' }
    })
  }

  /** Bytes from `from` to before `to`; undefined where there is no such object, or it is shorter. */
  async readRange(key: string, from: number, to: number): Promise<Uint8Array | undefined> {
    return this.#call(key, async (options) => {
      const get = new this.#sdk.GetObjectCommand({ ...this.#at(key), Range: `bytes=${from}-${to - 1}` })
      const reply = await this.#client.send(get, options).catch(orUndefined(404, 416))
      const bytes = await reply?.Body?.transformToByteArray()
      if (bytes !== undefined && bytes.length !== to - from) throw new Error('the answer has another length')
      return bytes
    })
  }

  /** Size and SHA-256, as they were sent; undefined where there is no such object. */
  async facts(key: string) {
    const head = new this.#sdk.HeadObjectCommand(this.#at(key))
    const reply = await this.#call(key, (options) => this.#client.send(head, options).catch(orUndefined(404)))
    return reply && { bytes: reply.ContentLength ?? 0, sha256: reply.Metadata?.['sha256'] }
  }

  /** @param tag of the object to replace; undefined: there is none yet. @returns whether it was as stated. */
  async replace(key: string, bytes: Uint8Array, tag: string | undefined): Promise<boolean> {
    return await this.#put(key, bytes, tag === undefined ? NEW : { IfMatch: tag })
  }

  async remove(key: string): Promise<void> {
    const remove = new this.#sdk.DeleteObjectCommand(this.#at(key))
    await this.#call(key, (options) => this.#client.send(remove, options).catch(orUndefined(404)))
  }

  /** @param isNew an object under the key stays. @returns whether the store has these bytes under the key now. */
  async send(key: string, file: SentFile, isNew: boolean): Promise<boolean> {
    const condition = isNew ? NEW : {}
    const sent =
      file.bytes > this.limits.partBytes
        ? await this.#sendParts(key, file, condition)
        : await this.#put(key, await readFile(file.path), { ...condition, Metadata: { sha256: file.sha256 } })
    // A reply may have been lost, and somebody else may have sent the same.
    return sent || (await this.facts(key))?.sha256 === file.sha256
  }

  /** @throws StoreError where a second write under a name is not refused, as some servers ignore conditions. */
  async probe(): Promise<void> {
    const key = `probe/${randomUUID()}`
    await this.replace(key, Buffer.from('first'), undefined)
    const second = await this.replace(key, Buffer.from('second'), undefined)
    const third = await this.replace(key, Buffer.from('third'), '"00000000000000000000000000000000"')
    await this.remove(key)
    if (second || third)
      throw new StoreError(
        `The object store ignores ${second ? 'If-None-Match' : 'If-Match'}, so a writer would replace what another ` +
          'wrote: use one that honours it.',
      )
  }

  #at(key: string) {
    return { Bucket: this.#bucket, Key: [...this.#prefix, key].join('/') }
  }

  async #call<T>(key: string, attempt: (options: { abortSignal: AbortSignal }) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      using limit = timeLimit(this.limits.callTimeoutMs)
      try {
        return await attempt({ abortSignal: limit.signal })
      } catch (error) {
        const fault = faultOf(error, this.#bucket, key)
        if (!fault.passing || tries === this.limits.callsMax) throw fault
      }
      await sleep(this.limits.retryFirstMs * 2 ** (tries - 1))
    }
  }

  /** @returns false where the condition does not hold. */
  async #put(key: string, bytes: Uint8Array, condition: object): Promise<boolean> {
    const checked = { Body: bytes, ChecksumSHA256: sha256(bytes).toString('base64') }
    const put = new this.#sdk.PutObjectCommand({ ...this.#at(key), ...condition, ...checked })
    const refused = orUndefined('IfMatch' in condition ? 404 : 412, 412)
    return (await this.#call(key, (options) => this.#client.send(put, options).catch(refused))) !== undefined
  }

  async #sendParts(key: string, file: SentFile, condition: object): Promise<boolean> {
    const { CreateMultipartUploadCommand, UploadPartCommand, CompleteMultipartUploadCommand } = this.#sdk
    const begin = { ...this.#at(key), ChecksumAlgorithm: 'SHA256' as const, Metadata: { sha256: file.sha256 } }
    const begun = await this.#call(key, (options) =>
      this.#client.send(new CreateMultipartUploadCommand(begin), options),
    )
    const upload = { ...this.#at(key), UploadId: begun.UploadId }
    try {
      const Parts = await sentParts(file, this.limits, async (PartNumber, Body) => {
        const ChecksumSHA256 = sha256(Body).toString('base64')
        const part = new UploadPartCommand({ ...upload, PartNumber, Body, ChecksumSHA256 })
        const { ETag } = await this.#call(key, (options) => this.#client.send(part, options))
        return { PartNumber, ETag, ChecksumSHA256 }
      })
      const whole = new CompleteMultipartUploadCommand({ ...upload, ...condition, MultipartUpload: { Parts } })
      // 404: an earlier try has ended the upload, and its reply was lost.
      const ended = await this.#call(key, (options) => this.#client.send(whole, options).catch(orUndefined(404, 412)))
      return ended !== undefined
    } catch (error) {
      await this.#client.send(new this.#sdk.AbortMultipartUploadCommand(upload)).catch(() => undefined)
      throw error
    }
  }
}

/** Reads a file in parts and sends some of them at once. */
async function sentParts(
  { path, bytes }: SentFile,
  { partBytes, partsMax, partsAtOnceMax }: ObjectLimits,
  sendPart: (number: number, part: Buffer) => Promise<S3.CompletedPart>,
): Promise<S3.CompletedPart[]> {
  const size = Math.max(partBytes, Math.ceil(bytes / partsMax))
  const parts: S3.CompletedPart[] = []
  await using file = await open(path)
  const offsets = Array.from({ length: Math.ceil(bytes / size) }, (_, index) => index * size)
  await forEachConcurrently(offsets, partsAtOnceMax, async (offset, index) => {
    const part = Buffer.allocUnsafe(Math.min(size, bytes - offset))
    const { bytesRead } = await file.read(part, 0, part.length, offset)
    if (bytesRead < part.length) throw new StoreError(`${path} became shorter while it was sent.`)
    parts[index] = await sendPart(index + 1, part)
  })
  return parts
}
