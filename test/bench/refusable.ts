import { issueKey } from '#core/credentials/api-key.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'
import type { Pepper } from '#core/credentials/settings.ts'
import type { Stage } from '#gateway/retrieve/request-context.ts'
import { KNOWLEDGE_BASE } from './publish.ts'

/** A request that costs its caller nothing, made to cost the gateway as much as possible before it is refused. */
export interface Refusable {
  /** The stage that refuses; `none`: the headers are refused before the first stage. */
  readonly stage: Stage | 'none'
  readonly name: string
  readonly status: number
  /** The request as it goes over the wire. */
  bytes(): Buffer
}

/** Keys of callers that are refused where their name says. */
export interface RefusedCallers {
  readonly unlimited: string
  /** The plan allows queries of `SHORT_QUERY_CHARACTERS`; the entitlement has 64 languages. */
  readonly short: string
  /** The allowance of the day is used up by a request with `usedKey`. */
  readonly exhausted: string
  readonly usedKey: string
}

export const SHORT_QUERY_CHARACTERS = 3_000
const { bodyBytesMax, headerBytesMax, idempotencyKeyCharactersMax } = GATEWAY_BOUNDS

/** Every language of an entitlement that has as many as it may; `qaa` to `qtz` are for private use. */
export const MANY_LANGUAGES: readonly string[] = repeated(
  SEARCH_BOUNDS.filterValuesMax,
  (n) => `qa${String.fromCodePoint(97 + (n % 26))}-Latn-${String(100 + n)}`,
)

interface Sent {
  readonly key?: string
  readonly path?: string
  readonly headers?: readonly string[]
  readonly body?: string
}

function requestOf({ key, path = '/v1/retrieve', headers = [], body = '' }: Sent): Buffer {
  const head = [
    `POST ${path} HTTP/1.1`,
    'host: bench',
    'connection: close',
    ...(key === undefined ? [] : [`authorization: Bearer ${key}`]),
    'content-type: application/json',
    ...headers,
    `content-length: ${Buffer.byteLength(body)}`,
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
}

/** As many times `unit` between `head` and `tail` as the body limit leaves room for. */
function filled(head: string, unit: string, tail: string): string {
  const room = bodyBytesMax - Buffer.byteLength(head) - Buffer.byteLength(tail)
  return `${head}${unit.repeat(Math.floor(room / Buffer.byteLength(unit)))}${tail}`
}

function bodyOf(filters: object | undefined, query = 'x'): string {
  return JSON.stringify({ query, knowledge_base: KNOWLEDGE_BASE, ...(filters === undefined ? {} : { filters }) })
}

function repeated<T>(count: number, of: (n: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, n) => of(n))
}

/** Nearly as many headers as Node accepts. */
const MANY_HEADERS = repeated(900, (n) => `${n.toString(36).padStart(4, 'a')}:`)
const FIELDS = `"query":"x","knowledge_base":"${KNOWLEDGE_BASE}"`
const WAVE = '\u{1f30a}'
/** Combining marks in the order that takes longest to normalise. */
const HOSTILE_MARKS = `a${'\u0f73\u0344\u0323'.repeat(1_300)}`
const LONG_LANGUAGE = 'en-u-ca-buddhist-co-phonebk-cu-usd-hc-h12-kn-true-nu-latn-tz-uslax-va-posix-rg-uszzzz'

const UNPARSABLE: Readonly<Record<string, string>> = {
  'lists in lists': `${'['.repeat(bodyBytesMax / 2)}${']'.repeat(bodyBytesMax / 2)}`,
  'objects in objects': `${'{"":'.repeat(3_200)}0${'}'.repeat(3_200)}`,
  'unknown fields': `{${[FIELDS, ...repeated(1_700, (n) => `"${n.toString(36)}":0`)].join(',')}}`,
  'a list of thousands of wrong values': filled(`{${FIELDS},"filters":{"language":[`, '0,', '0]}}'),
  'three lists of 64 wrong values': bodyOf(
    Object.fromEntries(['language', 'jurisdiction', 'subject'].map((name) => [name, repeated(64, () => [])])),
  ),
  'a query of lone surrogates': filled(`{${FIELDS},"query":"`, '\\ud800', '"}'),
  'a query of white space': filled(`{${FIELDS},"query":"`, '\\u2003', '"}'),
  'characters of four bytes, one too many': bodyOf(undefined, WAVE.repeat(SEARCH_BOUNDS.queryCharactersMax + 1)),
  'a number of thousands of digits': filled(`{${FIELDS},"top_k":`, '9', '}'),
  'a profile that is no UUID': filled(`{${FIELDS},"profile":"`, 'a', '"}'),
}

function chunked(key: string, body: string): Buffer {
  const head = ['POST /v1/retrieve HTTP/1.1', 'host: bench', 'connection: close', `authorization: Bearer ${key}`]
  const headers = [...head, 'content-type: application/json', 'transfer-encoding: chunked']
  const chunks = [...body].map((character) => `1\r\n${character}\r\n`)
  return Buffer.from(`${headers.join('\r\n')}\r\n\r\n${chunks.join('')}0\r\n\r\n`)
}

/** The dearest requests that are known, in the order of the stages that refuse them. */
export function refusables(
  { unlimited, short, exhausted, usedKey }: RefusedCallers,
  pepper: Pepper,
): readonly Refusable[] {
  const sent = (stage: Refusable['stage'], status: number, name: string, what: Sent): Refusable => ({
    stage,
    status,
    name,
    bytes: () => requestOf(what),
  })
  const admitted = (status: number, name: string, key: string): Refusable =>
    sent('admit', status, name, {
      key: exhausted,
      headers: [`idempotency-key: ${key}`],
      body: bodyOf(undefined, HOSTILE_MARKS),
    })
  const narrowed = (name: string, key: string, filters: object): Refusable =>
    sent('narrow', 403, name, { key, body: bodyOf(filters) })
  // Its characters must be counted, because its length alone does not show that they are too many.
  const tooLong = WAVE.repeat(SHORT_QUERY_CHARACTERS - 500) + 'x'.repeat(600)
  const manyNames = repeated(3_000, (n) => n.toString(36)).join('&')
  const otherSpellings = [...MANY_LANGUAGES.slice(1).map((language) => language.toUpperCase()), LONG_LANGUAGE]
  const longCodes = {
    jurisdiction: repeated(64, (n) => `\u00df${n}`.repeat(30)),
    subject: repeated(64, (n) => `s${n}`.repeat(10)),
  }
  return [
    sent('none', 400, 'a Content-Encoding after as many headers as fit', {
      headers: [...MANY_HEADERS, 'content-encoding: gzip'],
    }),
    sent('none', 404, 'an unknown path as long as fits', { path: `/${'%c3%a9/'.repeat(2_200)}` }),
    sent('authenticate', 401, 'a query string of many names', { path: `/v1/retrieve?${manyNames}` }),
    {
      stage: 'authenticate',
      name: 'another unknown key each time, after as many headers as fit',
      status: 401,
      bytes: () => requestOf({ key: issueKey('live', pepper).secret, headers: MANY_HEADERS }),
    },
    sent('authenticate', 401, 'a key as long as fits', { key: 'a'.repeat(headerBytesMax - 1_000) }),
    ...Object.entries(UNPARSABLE).map(([name, body]) => sent('parse', 400, name, { key: unlimited, body })),
    {
      stage: 'parse',
      name: 'a body in chunks of one byte',
      status: 400,
      bytes: () => chunked(unlimited, filled('["', 'x', '"]')),
    },
    sent('entitle', 400, 'a query with 100 characters too many for the plan', {
      key: short,
      body: bodyOf(undefined, tooLong),
    }),
    sent('entitle', 403, 'a knowledge base with a name as long as fits', {
      key: unlimited,
      body: filled('{"query":"x","knowledge_base":"', 'x', '"}'),
    }),
    narrowed('every language of 64 in another spelling, then one outside', short, { language: otherSpellings }),
    narrowed('long extensions of a language', unlimited, { language: repeated(64, () => LONG_LANGUAGE) }),
    narrowed('codes of no language', unlimited, { language: repeated(64, () => '!'.repeat(100)) }),
    narrowed('long jurisdictions and subjects', unlimited, longCodes),
    admitted(429, 'a used-up day and combining marks', 'a'.repeat(idempotencyKeyCharactersMax)),
    admitted(409, 'a used Idempotency-Key and combining marks', usedKey),
  ]
}
