import { mkdir, open, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { OperatorError } from '#core/platform/errors.ts'
import { digestFile } from '#core/platform/hashed-file.ts'
import { MODELS_BOUNDS } from '#jobs/encoder/bounds.ts'
import type { PinnedFile } from './catalogue.ts'

export interface Download {
  readonly url: string
  /** Where the file comes to lie; what an earlier run left there is continued. */
  readonly path: string
  readonly pinned: PinnedFile
  readonly signal: AbortSignal
  /** Called with the bytes that are there. */
  readonly onBytes: (bytes: number) => void
}

/** Hosts to which the model hub sends for large files. Others, and http after https, are not followed. */
const HUB_HOSTS = /(?:^|\.)(?:huggingface\.co|hf\.co)$/

/**
 * Downloads one file whose size and digest are known, and checks it.
 * @throws OperatorError where the server refuses, sends another file, or stops sending.
 */
export async function download(file: Download): Promise<void> {
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
  const handle = await open(path, from === 0 ? 'w' : 'a')
  try {
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
  } finally {
    await handle.close()
  }
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

async function sizeOf(path: string): Promise<number> {
  return await stat(path).then(
    ({ size }) => size,
    () => 0,
  )
}
