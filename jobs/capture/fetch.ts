import { createHash } from 'node:crypto'
import { lookup as lookupHost } from 'node:dns'
import { request as requestHttp, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, BlockList, type LookupFunction } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { keepBlocks, type Kept } from '#law/sources/capture.ts'
import { CAPTURE_BOUNDS } from './bounds.ts'

interface FetchInput {
  readonly url: string
  /** Hosts that may answer, as `URL` writes them. */
  readonly hosts: ReadonlySet<string>
  /** Whether an address of a private network may answer, and plain HTTP. */
  readonly isPrivate: boolean
  /** Headers of the last good answer; with them an unchanged file is not sent again. */
  readonly known?: Readonly<Record<string, string>> | undefined
  readonly hostPauseMs?: number
}

/** Exact bytes in the store under their SHA-256, or that they are unchanged. */
export type Fetched =
  | { readonly kind: 'unchanged' }
  | {
      readonly kind: 'body'
      readonly sha256: string
      readonly bytes: number
      readonly finalUrl: string
      /** Those by which a change is asked for, and the type. */
      readonly headers: Readonly<Record<string, string>>
    }

const KEPT_HEADERS = ['etag', 'last-modified', 'content-type', 'date']
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/**
 * Fetches an address into the store. Each host, also of a redirect, is an allowed one, and the address to which its name
 * resolves is checked by the connection itself, so that no later resolution can lead elsewhere.
 * @throws OperatorError saying what and where.
 */
export async function fetchInto(store: ArtifactStore, input: FetchInput): Promise<Fetched> {
  const signal = AbortSignal.timeout(CAPTURE_BOUNDS.answerTimeoutMs)
  let url = checkedUrl(input.url, input)
  for (let redirects = 0; ; redirects += 1) {
    await pausedFor(url.host, input.hostPauseMs ?? CAPTURE_BOUNDS.hostPauseMs, signal)
    const answer = await answerOf(url, input, signal)
    const status = answer.statusCode ?? 0
    const to = answer.headers.location
    if (REDIRECTS.has(status) && to !== undefined) {
      answer.destroy()
      if (redirects >= CAPTURE_BOUNDS.redirectsMax)
        throw new OperatorError(`${input.url} redirects more than ${CAPTURE_BOUNDS.redirectsMax} times`)
      url = checkedUrl(URL.canParse(to, url.href) ? new URL(to, url.href).href : to, input)
      continue
    }
    if (status === 304 && input.known !== undefined) {
      answer.destroy()
      return { kind: 'unchanged' }
    }
    if (status !== 200) {
      answer.destroy()
      throw new OperatorError(`${url.href} answered with status ${status}, not 200`)
    }
    if (!/^(?:identity)?$/i.test(answer.headers['content-encoding'] ?? '')) {
      answer.destroy()
      throw new OperatorError(`${url.href} answered with an encoding that was not asked for`)
    }
    return {
      kind: 'body',
      ...(await kept(store, answer, url.href, signal)),
      finalUrl: url.href,
      headers: keptHeaders(answer),
    }
  }
}

function checkedUrl(written: string, { hosts, isPrivate }: FetchInput): URL {
  if (!URL.canParse(written)) throw new OperatorError(`${written.slice(0, 200)} is no address`)
  const url = new URL(written)
  if (url.protocol !== 'https:' && !(isPrivate && url.protocol === 'http:'))
    throw new OperatorError(`${url.href} is not HTTPS: name an address that begins with https://`)
  if (url.username !== '' || url.password !== '') throw new OperatorError('an address must not hold a password')
  if (!hosts.has(url.hostname))
    throw new OperatorError(`${url.hostname} is no allowed host: allow it by its name, with --allow-host`)
  const literal = url.hostname.replace(/^\[|\]$/g, '')
  if (!isPrivate && isIP(literal) !== 0 && !isPublic(literal)) throw privateAddress(url.hostname)
  url.hash = ''
  return url
}

function privateAddress(host: string): OperatorError {
  return new OperatorError(`${host} is an address of a private network: allow it with --allow-private, if it is meant`)
}

/** Resolves a name to public addresses alone. A name with any other is refused. */
function publicLookup(isPrivate: boolean): LookupFunction {
  return (host, options, done) => {
    lookupHost(host, { ...options, all: true }, (error, found) => {
      if (error !== null) return done(error, '', 0)
      const [first] = found
      if (first === undefined || (!isPrivate && !found.every(({ address }) => isPublic(address))))
        return done(privateAddress(host), '', 0)
      return options.all === true ? done(null, found) : done(null, first.address, first.family)
    })
  }
}

async function answerOf(url: URL, { known = {}, isPrivate }: FetchInput, signal: AbortSignal) {
  const headers: Record<string, string> = {
    'user-agent': 'evidence-retrieval-service',
    'accept-encoding': 'identity',
    ...(known['etag'] === undefined ? {} : { 'if-none-match': known['etag'] }),
    ...(known['last-modified'] === undefined ? {} : { 'if-modified-since': known['last-modified'] }),
  }
  const request = url.protocol === 'https:' ? requestHttps : requestHttp
  return await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(
      url,
      { headers, lookup: publicLookup(isPrivate), signal, timeout: CAPTURE_BOUNDS.silenceTimeoutMs, agent: false },
      resolve,
    )
    sent.on('timeout', () => sent.destroy(new Error('no answer in time')))
    sent.on('error', (cause) => {
      reject(
        cause instanceof OperatorError
          ? cause
          : new OperatorError(`${url.href} does not answer: ${reasonOf(cause)}`, { cause }),
      )
    })
    // Where it is closed without an answer and without an error, as after a switch of protocols.
    sent.on('close', () => reject(new OperatorError(`${url.href} does not answer: closed`)))
    sent.end()
  })
}

function reasonOf(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.message
  return code.slice(0, 100)
}

async function kept(store: ArtifactStore, answer: IncomingMessage, url: string, signal: AbortSignal): Promise<Kept> {
  let bytes = 0
  const brokenOff = (cause: unknown): OperatorError =>
    new OperatorError(`${url} broke off after ${bytes} bytes`, { cause })
  try {
    return await keepBlocks(
      store,
      async (keep) => {
        const hash = createHash('sha256')
        for await (const block of blocksOf(answer, brokenOff)) {
          bytes += block.length
          if (bytes > CAPTURE_BOUNDS.answerBytesMax)
            throw new OperatorError(`${url} sends more than ${CAPTURE_BOUNDS.answerBytesMax} bytes`)
          hash.update(block)
          await keep(block)
        }
        const stated = answer.headers['content-length']
        if (!answer.complete || (stated !== undefined && Number(stated) !== bytes)) throw brokenOff(undefined)
        if (bytes === 0) throw new OperatorError(`${url} answered with an empty file`)
        return { sha256: hash.digest('hex'), bytes }
      },
      { signal },
    )
  } catch (cause) {
    throw signal.aborted ? brokenOff(cause) : cause
  } finally {
    answer.destroy()
  }
}

/** Yields what is received. Only a fault of the connection says that it broke off, and not one of the disk. */
async function* blocksOf(
  answer: IncomingMessage,
  brokenOff: (cause: unknown) => OperatorError,
): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of answer) yield Buffer.from(chunk)
  } catch (cause) {
    throw brokenOff(cause)
  }
}

function keptHeaders({ headers }: IncomingMessage): Readonly<Record<string, string>> {
  return Object.fromEntries(
    KEPT_HEADERS.flatMap((name) => {
      const value = headers[name]
      // A part of a tag is another tag.
      const isKept = typeof value === 'string' && value.length <= CAPTURE_BOUNDS.headerCharactersMax
      return isKept ? [[name, value] as const] : []
    }),
  )
}

const lastRequests = new Map<string, number>()

/** Waits until a host has had its pause since the last request of this process. */
async function pausedFor(host: string, pauseMs: number, signal: AbortSignal): Promise<void> {
  const now = performance.now()
  for (const [each, at] of lastRequests) if (now - at > CAPTURE_BOUNDS.hostPauseMs) lastRequests.delete(each)
  const due = (lastRequests.get(host) ?? -Infinity) + pauseMs
  lastRequests.set(host, Math.max(now, due))
  if (due > now) await setTimeout(due - now, undefined, { signal })
}

/**
 * Networks that are not the public internet (IANA special-purpose registries, RFC 6890); of global unicast those of
 * documentation, benchmarks and tunnels, which may lead inside.
 */
const PRIVATE =
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 ' +
  '192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 ' +
  '2001::/23 2001:db8::/32 2002::/16 3fff::/20'

const blocked = new BlockList()
for (const each of PRIVATE.split(' ')) {
  const [network = '', prefix] = each.split('/')
  blocked.addSubnet(network, Number(prefix), network.includes(':') ? 'ipv6' : 'ipv4')
}
/** Everything but global unicast is no public internet either. */
const global = new BlockList()
global.addSubnet('2000::', 3, 'ipv6')

/** Whether an IP address belongs to the public internet; a mapped address counts as the one that it maps. */
export function isPublic(address: string): boolean {
  const version = isIP(address)
  if (version === 4) return !blocked.check(address, 'ipv4')
  return version === 6 && global.check(address, 'ipv6') && !blocked.check(address, 'ipv6')
}
