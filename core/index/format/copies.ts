import { constants } from 'node:fs'
import { access, mkdir, open, readFile, rm, stat, utimes } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { ArtifactError } from '#core/index/artifact-error.ts'
import { openObjectStore, type ObjectLimits, type ObjectStore } from '#core/object-store/s3.ts'
import { renameDurably, syncPath, writeChanged, writeDurably } from '#core/platform/durable-file.ts'
import { StoreError } from '#core/platform/errors.ts'
import { forEachConcurrently } from '#core/platform/for-each-concurrently.ts'
import { digestFile, type FileDigest } from '#core/platform/hashed-file.ts'
import {
  ARTIFACT_FILES,
  MANIFEST_FILE,
  SIGNATURE_FILE,
  filesOf,
  readManifest,
  readSignedManifest,
  type Signed,
} from './manifest.ts'
import { UNFINISHED, bytesAt, createRoom, type Room } from './room.ts'

/** How the files of a store get to other machines. Paths are those of the local folder. */
export type Copies = Pick<RemoteCopies, keyof RemoteCopies>

/** The local folder is the store. */
export const ONE_FOLDER: Copies = {
  fetch: (path) => Promise.resolve(path),
  fetchManifest: (folder) => Promise.resolve(folder),
  publish: () => Promise.resolve(),
  unpublish: () => Promise.resolve(),
  discard: () => Promise.resolve(false),
  bytesOf: bytesAt,
  async readText(path) {
    try {
      return await readFile(path, 'utf8')
    } catch (error) {
      await stat(dirname(path))
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
      throw error
    }
  },
  replaceText: writeChanged,
  trim: () => Promise.resolve(),
  probe: () => Promise.resolve(),
}

export interface CopyOptions {
  /** Ids of the versions that a search node wants. Undefined: what was used within the hour is in use. */
  readonly inUse?: () => Iterable<string>
  readonly limits?: ObjectLimits
}

/**
 * Keeps copies of the objects of a bucket in a local folder within a bound. An artifact is published with its signature
 * last, so what has no signature is not there; a listing is never asked.
 * @throws StoreError from each method, where the store does not do it.
 */
export class RemoteCopies {
  readonly #root: string
  readonly #room: Room
  readonly #fetching = new Map<string, Promise<void>>()
  readonly #objects: () => Promise<ObjectStore>
  #probed: Promise<void> | undefined

  /** @param url `s3://bucket/prefix`. */
  constructor(url: string, root: string, bytesMax: number, { inUse, limits }: CopyOptions) {
    let opened: Promise<ObjectStore> | undefined
    this.#objects = () => (opened ??= openObjectStore(url, limits))
    this.#root = root
    this.#room = createRoom({ root, bytesMax, inUse, isPublished: (path) => this.#isPublished(path) })
  }

  /**
   * Has a file or an artifact at its path. What the store lacks is not there afterwards either.
   * @param signed what the manifest of an artifact must be, before any of its files is fetched.
   * @throws ArtifactError where the store lacks a part, or holds other bytes.
   */
  async fetch(path: string, signed?: Signed): Promise<string> {
    const now = new Date()
    if (await utimes(path, now, now).then(...TRUE_OR_FALSE)) return path
    const fetched = (): Promise<void> => (this.#isArtifact(path) ? this.#artifact(path, signed) : this.#file(path))
    const begun = this.#fetching.get(path) ?? fetched()
    this.#fetching.set(path, begun)
    try {
      await begun
    } catch (error) {
      const isFull = error instanceof Error && 'code' in error && error.code === 'ENOSPC'
      throw isFull ? new StoreError(FULL, { cause: error, passing: true }) : error
    } finally {
      this.#fetching.delete(path)
    }
    return path
  }

  /** Has manifest and signature of an artifact in a folder, and returns it. */
  async fetchManifest(folder: string): Promise<string> {
    if (await isThere(folder)) return folder
    const store = await this.#objects()
    for (const name of [SIGNATURE_FILE, MANIFEST_FILE]) {
      const found = await store.read(this.#keyOf(folder, name))
      if (found === undefined) return folder
      await writeDurably(join(`${folder}${UNFINISHED}`, name), found.bytes)
    }
    return `${folder}${UNFINISHED}`
  }

  /** Gives a file or an artifact to the store. @param again it replaces an earlier file, which else stays. */
  async publish(path: string, { again }: { readonly again: boolean } = { again: false }): Promise<void> {
    if (!this.#isArtifact(path)) return this.#send(path, !again)
    const names = filesOf(await readManifest(path)).map(({ name }) => name)
    // What an earlier run left without a signature makes room.
    const mayReplace = !(await this.#isPublished(path))
    const { filesAtOnceMax } = (await this.#objects()).limits
    await forEachConcurrently(names, filesAtOnceMax, (name) => this.#send(join(path, name), true, mayReplace))
    await this.#send(join(path, MANIFEST_FILE), true, mayReplace)
    await this.#send(join(path, SIGNATURE_FILE), true)
  }

  /** Removes a file or an artifact from the store. */
  async unpublish(path: string): Promise<void> {
    const store = await this.#objects()
    const names = this.#isArtifact(path) ? [SIGNATURE_FILE, MANIFEST_FILE, ...ARTIFACT_FILES] : ['']
    for (const name of names) await store.remove(this.#keyOf(path, name))
  }

  /** Removes a damaged copy. @returns whether another can be fetched. */
  async discard(path: string): Promise<boolean> {
    await rm(path, { recursive: true, force: true })
    return true
  }

  /** Size of a file or an artifact; 0: there is none. */
  async bytesOf(path: string): Promise<number> {
    if (!this.#isArtifact(path)) return (await (await this.#objects()).facts(this.#keyOf(path)))?.bytes ?? 0
    const manifest = await readManifest(await this.fetchManifest(path)).catch(() => undefined)
    return manifest === undefined ? 0 : filesOf(manifest).reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** The text of a small file that is replaced; undefined: there is none. */
  async readText(path: string): Promise<string | undefined> {
    return (await (await this.#objects()).read(this.#keyOf(path)))?.bytes.toString('utf8')
  }

  /** Replaces it unless it has this text, or another writer was faster. */
  async replaceText(path: string, text: string): Promise<void> {
    const store = await this.#objects()
    const found = await store.read(this.#keyOf(path))
    if (found?.bytes.toString('utf8') === text) return
    await this.probe()
    await store.replace(this.#keyOf(path), Buffer.from(text), found?.tag)
  }

  /** Removes copies above the bound. */
  async trim(): Promise<void> {
    await this.#room.trim()
  }

  /** The first write of a process shows that the store refuses a second one. */
  async probe(): Promise<void> {
    await mkdir(join(this.#root, 'snapshots', 'incoming'), { recursive: true })
    this.#probed ??= this.#objects().then((store) => store.probe())
    // A store that does not answer is asked again the next time.
    this.#probed.catch(() => (this.#probed = undefined))
    await this.#probed
  }

  #keyOf(path: string, name = ''): string {
    return relative(this.#root, join(path, name))
  }

  #isArtifact(path: string): boolean {
    return dirname(path) === join(this.#root, 'artifacts')
  }

  async #isPublished(path: string): Promise<boolean> {
    const key = this.#keyOf(path, this.#isArtifact(path) ? SIGNATURE_FILE : '')
    return (await (await this.#objects()).facts(key)) !== undefined
  }

  async #artifact(folder: string, signed: Signed | undefined): Promise<void> {
    const part = await this.fetchManifest(folder)
    if (part === folder) return
    if (signed !== undefined) await readSignedManifest(part, signed.publicKeysDer, signed.digest)
    const files = filesOf(await readManifest(part))
    await this.#room.make(files.reduce((sum, { bytes }) => sum + bytes, 0) - (await bytesAt(part)))
    const { filesAtOnceMax } = (await this.#objects()).limits
    await forEachConcurrently(files, filesAtOnceMax, (file) =>
      this.#downloadVerified(this.#keyOf(folder, file.name), join(part, file.name), file),
    )
    await syncPath(part)
    await named(part, folder)
  }

  async #file(path: string): Promise<void> {
    const found = await (await this.#objects()).facts(this.#keyOf(path))
    if (found === undefined) return
    await this.#room.make(found.bytes)
    await mkdir(dirname(path), { recursive: true })
    const sha256 = /^[0-9a-f]{64}$/.test(basename(path)) ? basename(path) : (found.sha256 ?? '')
    await this.#downloadVerified(this.#keyOf(path), `${path}${UNFINISHED}`, { bytes: found.bytes, sha256 })
    await named(`${path}${UNFINISHED}`, path)
  }

  /** Bytes that are not those that were stated are fetched once more. */
  async #downloadVerified(key: string, path: string, { bytes, sha256 }: FileDigest): Promise<void> {
    for (const isLast of [false, true]) {
      await this.#download(key, path, bytes)
      if ((await digestFile(path)).sha256 === sha256) return
      await rm(path, { force: true })
      if (isLast) throw new ArtifactError(`The object store holds other bytes of ${key} than were written: ${RESTORE}.`)
    }
  }

  /** Continues where an earlier try ended. Two processes that fetch one file write the same bytes. */
  async #download(key: string, path: string, bytes: number): Promise<void> {
    const store = await this.#objects()
    await using file = await open(path, constants.O_RDWR | constants.O_CREAT)
    const { size } = await file.stat()
    for (let from = size > bytes ? 0 : size; from < bytes;) {
      const to = Math.min(bytes, from + store.limits.rangeBytes)
      const range = await store.readRange(key, from, to)
      if (range === undefined) throw new ArtifactError(`The object store lacks ${key}: ${RESTORE}.`, { absent: true })
      await file.write(range, 0, range.length, from)
      from = to
    }
    await file.truncate(bytes)
    await file.sync()
  }

  /** @param isNew an object with other bytes stays. @param mayReplace it makes room, because nobody reads it. */
  async #send(path: string, isNew: boolean, mayReplace = false): Promise<void> {
    await this.probe()
    const file = { path, ...(await digestFile(path)) }
    const store = await this.#objects()
    const key = this.#keyOf(path)
    const found = isNew ? await store.facts(key) : undefined
    if (found?.bytes === file.bytes && found.sha256 === file.sha256) return
    if (found !== undefined && mayReplace) await store.remove(key)
    if (!(await store.send(key, file, isNew)))
      throw new StoreError(`The object store holds other bytes under ${key}: remove that object, then try again.`)
  }
}

const FULL = 'The disk of ARTIFACT_CACHE is full: free some of it, or lower ARTIFACT_CACHE_MAX_MB.'
const RESTORE = 'restore the object, or build or import again'
const TRUE_OR_FALSE = [(): boolean => true, (): boolean => false] as const

function isThere(path: string): Promise<boolean> {
  return access(path).then(...TRUE_OR_FALSE)
}

/** Another process may have been faster. */
async function named(part: string, path: string): Promise<void> {
  await renameDurably(part, path).catch(async (error: unknown) => {
    if (!(await isThere(path))) throw error
  })
}
