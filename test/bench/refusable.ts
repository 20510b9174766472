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
  /** Bytes of the request as they go over the wire. */
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

/** Every language of an entitlement that has as many as it may; `qaa` to `qtz` are for private use. */
export const MANY_LANGUAGES: readonly string[] = Array.from(
  { length: SEARCH_BOUNDS.filterValuesMax },
  (_, n) => `qa${String.fromCodePoint(97 + (n % 26))}-Latn-${String(100 + n)}`,
)

interface Sent {
  readonly key?: string
  readonly path?: string
  readonly headers?: readonly string[]
  readonly body?: string | Buffer
}

function requestOf({ key, path = '/v1/retrieve', headers = [], body = '' }: Sent): Buffer {
  const head = [
    `POST ${path} HTTP/1.1`,
    'host: bench',
    'connection: close',
    ...(key === undefined ? [] : [`authorization: Bearer ${key}`]),
    'content-type: application/json',
    ...headers,
  ]
  return Buffer.concat([
    Buffer.from(`${head.join('\r\n')}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`),
    Buffer.from(body),
  ])
}

/** As many times `unit` between `head` and `tail` as the body limit leaves room for. */
function filled(head: string, unit: string, tail: string): string {
  const room = GATEWAY_BOUNDS.bodyBytesMax - Buffer.byteLength(head) - Buffer.byteLength(tail)
  return `${head}${unit.repeat(Math.floor(room / Buffer.byteLength(unit)))}${tail}`
}

function bodyOf(filters: object | undefined, query = 'x'): string {
  return JSON.stringify({ query, knowledge_base: KNOWLEDGE_BASE, ...(filters === undefined ? {} : { filters }) })
}

function repeated<T>(count: number, of: (n: number) => T): T[] {
  return Array.from({ length: count }, (_, n) => of(n))
}

/** Nearly as many headers as Node accepts. */
const MANY_HEADERS = repeated(900, (n) => `${n.toString(36).padStart(4, 'a')}:`)

function beforeParse(pepper: Pepper): readonly Refusable[] {
  return [
    {
      stage: 'none',
      name: 'a Content-Encoding after as many headers as fit',
      status: 400,
      bytes: () => requestOf({ headers: [...MANY_HEADERS, 'content-encoding: gzip'] }),
    },
    {
      stage: 'none',
      name: 'an unknown path as long as fits',
      status: 404,
      bytes: () => requestOf({ path: `/${'%c3%a9/'.repeat(2_200)}` }),
    },
    {
      stage: 'authenticate',
      name: 'a query string of many names',
      status: 401,
      bytes: () => requestOf({ path: `/v1/retrieve?${repeated(3_000, (n) => n.toString(36)).join('&')}` }),
    },
    {
      stage: 'authenticate',
      name: 'another unknown key each time, after as many headers as fit',
      status: 401,
      bytes: () => requestOf({ key: issueKey('live', pepper).secret, headers: MANY_HEADERS }),
    },
    {
      stage: 'authenticate',
      name: 'a key as long as fits',
      status: 401,
      bytes: () => requestOf({ key: 'a'.repeat(GATEWAY_BOUNDS.headerBytesMax - 1_000) }),
    },
  ]
}

const FIELDS = `"query":"x","knowledge_base":"${KNOWLEDGE_BASE}"`
const THREE_LISTS = ['language', 'jurisdiction', 'subject'] as const

function unparsable({ unlimited: key }: RefusedCallers): readonly Refusable[] {
  const bodies: Readonly<Record<string, string>> = {
    'lists in lists': `${'['.repeat(GATEWAY_BOUNDS.bodyBytesMax / 2)}${']'.repeat(GATEWAY_BOUNDS.bodyBytesMax / 2)}`,
    'objects in objects': `${'{"":'.repeat(3_200)}0${'}'.repeat(3_200)}`,
    'unknown fields': `{${[FIELDS, ...repeated(1_700, (n) => `"${n.toString(36)}":0`)].join(',')}}`,
    'a list of thousands of wrong values': filled(`{${FIELDS},"filters":{"language":[`, '0,', '0]}}'),
    'three lists of 64 wrong values': bodyOf(
      Object.fromEntries(THREE_LISTS.map((name) => [name, repeated(64, () => [])])),
    ),
    'a query of lone surrogates': filled(`{${FIELDS},"query":"`, '\\ud800', '"}'),
    'a query of white space': filled(`{${FIELDS},"query":"`, '\\u2003', '"}'),
    'characters of four bytes, one too many': bodyOf(
      undefined,
      '\u{1f30a}'.repeat(SEARCH_BOUNDS.queryCharactersMax + 1),
    ),
    'a number of thousands of digits': filled(`{${FIELDS},"top_k":`, '9', '}'),
    'a profile that is no UUID': filled(`{${FIELDS},"profile":"`, 'a', '"}'),
  }
  return [
    ...Object.entries(bodies).map(([name, body]) => ({
      stage: 'parse' as const,
      name,
      status: 400,
      bytes: () => requestOf({ key, body }),
    })),
    {
      stage: 'parse',
      name: 'a body in chunks of one byte',
      status: 400,
      bytes: () => chunked(key, filled('["', 'x', '"]')),
    },
  ]
}

function chunked(key: string, body: string): Buffer {
  const head = ['POST /v1/retrieve HTTP/1.1', 'host: bench', 'connection: close', `authorization: Bearer ${key}`]
  const headers = [...head, 'content-type: application/json', 'transfer-encoding: chunked']
  const chunks = [...body].map((character) => `1\r\n${character}\r\n`)
  return Buffer.from(`${headers.join('\r\n')}\r\n\r\n${chunks.join('')}0\r\n\r\n`)
}

function outsideEntitlement({ short, unlimited }: RefusedCallers): readonly Refusable[] {
  // Its characters must be counted, because its length alone does not show that they are too many.
  const tooLong = '\u{1f30a}'.repeat(SHORT_QUERY_CHARACTERS - 500) + 'x'.repeat(600)
  const spellings = MANY_LANGUAGES.slice(1).map((language) => language.toUpperCase())
  const long = 'en-u-ca-buddhist-co-phonebk-cu-usd-hc-h12-kn-true-nu-latn-tz-uslax-va-posix-rg-uszzzz'
  const cases: readonly (readonly [Stage, string, string, object | undefined, string])[] = [
    ['entitle', 'a query with 100 characters too many for the plan', short, undefined, tooLong],
    [
      'narrow',
      'every language of 64 in another spelling, then one outside',
      short,
      { language: [...spellings, long] },
      'x',
    ],
    ['narrow', 'long extensions of a language', unlimited, { language: repeated(64, () => long) }, 'x'],
    ['narrow', 'codes of no language', unlimited, { language: repeated(64, () => '!'.repeat(100)) }, 'x'],
    [
      'narrow',
      'long jurisdictions and subjects',
      unlimited,
      { jurisdiction: repeated(64, (n) => `\u00df${n}`.repeat(30)), subject: repeated(64, (n) => `s${n}`.repeat(10)) },
      'x',
    ],
  ]
  return [
    ...cases.map(([stage, name, key, filters, query]) => ({
      stage,
      name,
      status: stage === 'entitle' ? 400 : 403,
      bytes: () => requestOf({ key, body: bodyOf(filters, query) }),
    })),
    {
      stage: 'entitle',
      name: 'a knowledge base with a name as long as fits',
      status: 403,
      bytes: () => requestOf({ key: unlimited, body: filled('{"query":"x","knowledge_base":"', 'x', '"}') }),
    },
  ]
}

/** Combining marks in the order that takes longest to normalise. */
const HOSTILE_MARKS = `a${'\u0f73\u0344\u0323'.repeat(1_300)}`

function notAdmitted({ exhausted: key, usedKey }: RefusedCallers): readonly Refusable[] {
  return [
    [
      'a used-up day and combining marks',
      429,
      `idempotency-key: ${'a'.repeat(GATEWAY_BOUNDS.idempotencyKeyCharactersMax)}`,
    ],
    ['a used Idempotency-Key and combining marks', 409, `idempotency-key: ${usedKey}`],
  ].map(([name, status, header]) => ({
    stage: 'admit',
    name: String(name),
    status: Number(status),
    bytes: () => requestOf({ key, headers: [String(header)], body: bodyOf(undefined, HOSTILE_MARKS) }),
  }))
}

/** The dearest requests that are known, in the order of the stages that refuse them. */
export function refusables(callers: RefusedCallers, pepper: Pepper): readonly Refusable[] {
  return [...beforeParse(pepper), ...unparsable(callers), ...outsideEntitlement(callers), ...notAdmitted(callers)]
}
