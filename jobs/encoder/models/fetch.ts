import { chmod, mkdir, readdir, stat, statfs, open, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { OperatorError } from '#core/platform/errors.ts'
import { digestFile, sizeOf } from '#core/platform/hashed-file.ts'
import { renameDurably, writeDurably } from '#core/platform/durable-file.ts'
import { CATALOGUE, FETCHED_FILE, type KnownRelease, type PinnedFile } from './catalogue.ts'
import { setTimeout as delay } from 'node:timers/promises'
import { MODELS_BOUNDS } from '#jobs/encoder/bounds.ts'

export const HUB = 'https://huggingface.co'

export interface Fetching {
  readonly name: string
  readonly release: KnownRelease
  readonly models: string
  /** Base URL of the hub or of a mirror with the same paths. */
  readonly from: string
  readonly signal: AbortSignal
  readonly onProgress: (file: string, done: number, total: number) => void
}

/** @throws OperatorError for a name that is not in the list, so that no name becomes a path. */
export function releaseNamed(name: string, catalogue: typeof CATALOGUE = CATALOGUE): KnownRelease {
  const release = Object.hasOwn(catalogue, name) ? catalogue[name] : undefined
  if (release !== undefined) return release
  throw new OperatorError(`No such model is in the list: choose ${Object.keys(catalogue).join(', ')}.`)
}

export function bytesOf({ files }: KnownRelease): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0)
}

/**
 * Downloads a model into a folder below `models`, which appears whole and cannot be written to. What an interrupted run
 * left is continued.
 * @returns the folder, and whether it was there already, as pinned.
 * @throws OperatorError where the folder holds something else, or a file cannot be had as it is pinned.
 */
export async function fetchModel(fetching: Fetching): Promise<{ readonly folder: string; readonly wasThere: boolean }> {
  const { name, release, models, from, signal, onProgress } = fetching
  const folder = join(models, name)
  if (await stat(folder).catch(() => undefined)) {
    await assertAsPinned(folder, release, signal)
    return { folder, wasThere: true }
  }
  const partial = join(models, `.${name}.${release.revision.slice(0, 12)}.partial`)
  await mkdir(partial, { recursive: true })
  await assertRoom(partial, release)
  for (const pinned of release.files)
    await download({
      url: `${from.replace(/\/+$/, '')}/${release.repository}/resolve/${release.revision}/${pinned.path}`,
      path: join(partial, pinned.path),
      pinned,
      signal,
      onBytes: (bytes) => onProgress(pinned.path, bytes, pinned.bytes),
    })
  for (const [path, value] of Object.entries(release.layout))
    await writeDurably(join(partial, path), `${JSON.stringify(value, null, 2)}\n`)
  const { repository, revision, licence, files } = release
  await writeDurably(join(partial, FETCHED_FILE), `${JSON.stringify({ name, repository, revision, licence, files })}\n`)
  await makeReadOnly(partial)
  await renameDurably(partial, folder)
  return { folder, wasThere: false }
}

/** @throws OperatorError where a file is missing or differs from its digest. */
async function assertAsPinned(folder: string, { files }: KnownRelease, signal: AbortSignal): Promise<void> {
  for (const { path, sha256 } of files) {
    const found = await digestFile(join(folder, path), signal).catch((error: unknown) => {
      signal.throwIfAborted()
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
      throw error
    })
    if (found?.sha256 !== sha256)
      throw new OperatorError(
        `${folder} is there, and its ${path} is not the one of the list: remove the folder, or use another --into.`,
      )
  }
}

async function assertRoom(partial: string, release: KnownRelease): Promise<void> {
  const { bavail, bsize } = await statfs(partial)
  const sizes = release.files.map(({ path }) => sizeOf(join(partial, path)))
  const there = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
  const missing = bytesOf(release) - there
  if (bavail * bsize < missing)
    throw new OperatorError(
      `${dirname(partial)} has room for ${bavail * bsize} bytes, and ${missing} are missing: use another --into.`,
    )
}

async function makeReadOnly(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await makeReadOnly(path)
    else await chmod(path, 0o444)
  }
  await chmod(folder, 0o555)
}

interface Download {
  readonly url: string
  /** Where the file comes to lie; what an earlier run left there is continued. */
  readonly path: string
  readonly pinned: PinnedFile
  readonly signal: AbortSignal
  readonly onBytes: (bytes: number) => void
}

/** Hosts to which the model hub sends for large files. Others, and http after https, are not followed. */
const HUB_HOSTS = /(?:^|\.)(?:huggingface\.co|hf\.co)$/

/**
 * Downloads one file whose size and digest are known, and checks it.
 * @throws OperatorError where the server refuses, sends another file, or stops sending.
 */
async function download(file: Download): Promise<void> {
  const { path, pinned } = file
  await mkdir(dirname(path), { recursive: true })
  let have = await sizeOf(path)
  if (have > pinned.bytes) await rm(path)
  for (let vain = 0; (have = await sizeOf(path)) < pinned.bytes;) {
    const why = await continued(file, have)
    file.signal.throwIfAborted()
    vain = (await sizeOf(path)) > have ? 0 : vain + 1
    if (vain >= MODELS_BOUNDS.fetchAttemptsMax)
      throw new OperatorError(`${pinned.path} cannot be downloaded (${why}): repeat the command, which continues.`)
    if (why !== undefined) await delay(MODELS_BOUNDS.fetchPauseMs, undefined, { signal: file.signal })
  }
  const { sha256 } = await digestFile(path, file.signal)
  if (sha256 === pinned.sha256) return
  await rm(path)
  throw new OperatorError(
    `${pinned.path} has the SHA-256 ${sha256} and not ${pinned.sha256}: it was removed. Try another server with --from.`,
  )
}

/** Asks for the bytes that are missing. @returns why not all came; undefined: they did. */
async function continued(file: Download, have: number): Promise<string | undefined> {
  const idle = new AbortController()
  const timer = setTimeout(() => idle.abort(), MODELS_BOUNDS.fetchIdleMaxMs)
  const signal = AbortSignal.any([file.signal, idle.signal])
  try {
    const reply = await followed(file, have, signal)
    if (typeof reply === 'string') return reply
    // Without a range, or with another one, the file begins again.
    const from = reply.status === 206 ? rangeStart(reply) : 0
    if (from !== 0 && from !== have) return 'the server sent another range'
    if (from + Number(reply.headers.get('content-length') ?? 0) > file.pinned.bytes) throw tooLarge(file.pinned)
    await append(file, reply, { from, onProgress: () => timer.refresh() })
    return undefined
  } catch (error) {
    if (error instanceof OperatorError) throw error
    return idle.signal.aborted ? 'no byte came for a minute' : 'the connection ended'
  } finally {
    clearTimeout(timer)
  }
}

async function append(
  { path, pinned, onBytes }: Download,
  { body }: Response,
  { from, onProgress }: { readonly from: number; readonly onProgress: () => void },
): Promise<void> {
  await using handle = await open(path, from === 0 ? 'w' : 'a')
  let bytes = from
  const pieces: AsyncIterable<unknown> | readonly unknown[] = body ?? []
  for await (const piece of pieces) {
    if (!(piece instanceof Uint8Array)) continue
    bytes += piece.length
    if (bytes > pinned.bytes) throw tooLarge(pinned)
    await handle.writeFile(piece)
    onProgress()
    onBytes(bytes)
  }
  await handle.sync()
}

/** @returns the reply after all redirections; a sentence where it may be asked again. */
async function followed(file: Download, have: number, signal: AbortSignal): Promise<Response | string> {
  let url = new URL(file.url)
  for (let count = 0; count <= MODELS_BOUNDS.fetchRedirectsMax; count++) {
    const headers = { 'accept-encoding': 'identity', ...(have === 0 ? {} : { range: `bytes=${have}-` }) }
    const reply = await fetch(url, { headers, redirect: 'manual', signal })
    if (reply.ok) return reply
    await reply.body?.cancel()
    const location = reply.headers.get('location')
    if (reply.status < 300 || reply.status >= 400 || location === null) {
      if (reply.status === 429 || reply.status >= 500) return `the server answered with status ${reply.status}`
      throw new OperatorError(`${url.host} answered with status ${reply.status} for ${file.pinned.path}: check --from.`)
    }
    const next = new URL(location, url)
    const isKnown = next.host === new URL(file.url).host || HUB_HOSTS.test(next.hostname)
    if (!isKnown || (next.protocol !== 'https:' && next.protocol !== url.protocol))
      throw new OperatorError(
        `${url.host} redirects to ${next.protocol}//${next.host}, which is not followed: name that server with --from ` +
          'if you trust it.',
      )
    url = next
  }
  throw new OperatorError(`${url.host} redirects more than ${MODELS_BOUNDS.fetchRedirectsMax} times: check --from.`)
}

function tooLarge({ path, bytes }: PinnedFile): OperatorError {
  return new OperatorError(`The server sends more than the ${bytes} bytes of ${path}: it is another file, see --from.`)
}

function rangeStart({ headers }: Response): number {
  return Number(/^bytes (\d+)-/.exec(headers.get('content-range') ?? '')?.[1] ?? 0)
}
