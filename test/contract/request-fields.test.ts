import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { ANSWERED_QUERY, KNOWLEDGE_BASE, type Caller } from '#test/support/caller.ts'
import type { Answer } from '#test/support/http.ts'
import { createCaller } from './service.ts'

let caller: Caller
beforeAll(async () => {
  caller = await createCaller()
})

function pathsRefused(answer: Answer): readonly string[] {
  expect(answer.status).toBe(400)
  expect(answer.error().error.code).toBe('INVALID_REQUEST')
  return [...new Set((answer.error().error.details ?? []).map(({ path }) => path))]
}

async function refusedAt(body: object): Promise<readonly string[]> {
  return pathsRefused(await caller.ask(body))
}

/** Sends a request with further fields, and the query within its quotes, as they are written. */
const sentWith = (fields: string, query = ANSWERED_QUERY): Promise<Answer> =>
  caller.send(`{"query":"${query}","knowledge_base":"${KNOWLEDGE_BASE}"${fields && `,${fields}`}}`)

async function statusOf(body: object): Promise<number> {
  return (await caller.ask(body)).status
}

const ASTRAL = '\u{1F30A}'
const NOT_A_STRING: readonly (readonly [string, unknown])[] = [
  ['absent', undefined],
  ['null', null],
  ['a number', 5],
  ['a boolean', true],
  ['a list', ['capital']],
  ['an object', { text: 'capital' }],
]
const NOT_A_LIST: readonly (readonly [string, unknown])[] = [
  ['null', null],
  ['a string', 'en'],
  ['an object', { 0: 'en' }],
  ['a list with a number', ['en', 1]],
  ['a list with null', [null]],
  ['a list in a list', [['en']]],
]

describe('Retrieval request: query', () => {
  test.each(NOT_A_STRING)('is a string and required: refused when %s', async (_, query) => {
    expect(await refusedAt({ query })).toEqual(['/query'])
  })

  test.each([
    ['ASCII', 'a'],
    ['two UTF-16 units and four bytes a character', ASTRAL],
  ])('has at most 4,000 characters, counted as code points: %s', async (_, character) => {
    // Escapes would exceed the body limit; as UTF-8, 4,000 characters of four bytes fit it.
    expect(await statusOf({ query: character.repeat(4_000) })).toBe(200)
    expect(await refusedAt({ query: character.repeat(4_001) })).toEqual(['/query'])
  })

  test.each([
    ['empty', ''],
    ['spaces', '   '],
    ['line ends and tabs', '\n\t\r'],
    ['no-break and ideographic spaces', '\u00A0\u3000'],
  ])('is not blank: refused when %s', async (_, query) => {
    expect(await refusedAt({ query })).toEqual(['/query'])
  })

  test('has no NUL', async () => {
    expect(await refusedAt({ query: 'capital\u0000ratio' })).toEqual(['/query'])
  })

  test.each([
    ['high', String.raw`capital \ud83c ratio`],
    ['low', String.raw`capital \udf0a ratio`],
    ['low before high', String.raw`\udf0a\ud83c`],
    ['high at the end', String.raw`capital \ud83c`],
  ])('has no lone surrogate: %s', async (_, escaped) => {
    expect(pathsRefused(await sentWith('', escaped))).toEqual(['/query'])
  })

  test('may be written with escaped surrogate pairs', async () => {
    expect((await sentWith('', String.raw`capital \ud83c\udf0a ratio`)).status).toBe(200)
  })

  test('is held to the shorter length of a plan, counted in code points', async () => {
    const brief = await createCaller({ limits: { max_query_characters: 10 } })
    expect((await brief.ask({ query: ASTRAL.repeat(10) })).status).toBe(200)
    expect(pathsRefused(await brief.ask({ query: ASTRAL.repeat(11) }))).toEqual(['/query'])
  })
})

describe('Retrieval request: knowledge_base', () => {
  test.each(NOT_A_STRING)('is a string and required: refused when %s', async (_, value) => {
    expect(await refusedAt({ knowledge_base: value })).toEqual(['/knowledge_base'])
  })

  test.each([
    ['in another case', KNOWLEDGE_BASE.toUpperCase()],
    ['with a space at the end', `${KNOWLEDGE_BASE} `],
    ['empty', ''],
    ['very long', 'a'.repeat(10_000)],
    ['with NUL', `${KNOWLEDGE_BASE}\u0000`],
  ])('is compared exactly, and any other slug is an unknown one: %s', async (_, slug) => {
    const answer = await caller.ask({ knowledge_base: slug })
    expect([answer.status, answer.error().error.code]).toEqual([403, 'ENTITLEMENT_INACTIVE'])
  })
})

describe('Retrieval request: filters', () => {
  test.each([
    ['null', null],
    ['a string', 'en'],
    ['a list', ['en']],
  ])('is an object: refused when %s', async (_, filters) => {
    expect(await refusedAt({ filters })).toEqual(['/filters'])
  })

  test('may be empty', async () => {
    expect(await statusOf({ filters: {} })).toBe(200)
  })

  describe.each(['language', 'jurisdiction', 'subject'])('filters.%s', (name) => {
    test.each(NOT_A_LIST)('is a list of strings: refused when %s', async (_, value) => {
      const [path] = await refusedAt({ filters: { [name]: value } })
      expect(path).toMatch(new RegExp(`^/filters/${name}(/\\d+)?$`))
    })

    test('is not an empty list', async () => {
      expect(await refusedAt({ filters: { [name]: [] } })).toEqual([`/filters/${name}`])
    })

    test('holds at most 64 values: one more is refused whatever they are, as one fault', async () => {
      const values = (count: number, value: unknown): object => ({
        filters: { [name]: Array.from({ length: count }, () => value) },
      })
      expect(await refusedAt(values(65, 'en'))).toEqual([`/filters/${name}`])
      expect(await refusedAt(values(5_000, 0))).toEqual([`/filters/${name}`])
      expect(await statusOf(values(64, 'no such value'))).toBe(403)
    })

    test('is optional', async () => {
      expect(
        await statusOf({
          filters: { language: ['en'], jurisdiction: ['HS-M'], subject: ['conduct'], [name]: undefined },
        }),
      ).toBe(200)
    })
  })
})

describe('Retrieval request: top_k', () => {
  test.each([1, 5, 100])('is accepted from 1 to 100: %i', async (topK) => {
    expect(await statusOf({ top_k: topK })).toBe(200)
  })

  test.each([0, -1, 101, 1.5, 1e300, '5', null, true, [5]])(
    'is a whole number from 1 to 100: refused when %j',
    async (topK) => {
      expect(await refusedAt({ top_k: topK })).toEqual(['/top_k'])
    },
  )

  test('may be written as 5.0 or 5e0, which are the same JSON number', async () => {
    for (const written of ['5.0', '5e0']) expect((await sentWith(`"top_k":${written}`)).status).toBe(200)
  })
})

describe('Retrieval request: profile', () => {
  test.each(['', 'ACTIVE', 'latest', 'not-a-uuid', `${randomUUID()}0`, 7, null, {}])(
    'is "active" or a UUID: refused when %j',
    async (profile) => {
      expect(await refusedAt({ profile })).toEqual(['/profile'])
    },
  )

  test('"active" is the same as none', async () => {
    const [named, absent] = [(await caller.ask({ profile: 'active' })).retrieved(), (await caller.ask()).retrieved()]
    expect(named.retrieval_profile).toBe(absent.retrieval_profile)
  })
})

describe('Unknown fields are rejected, and named', () => {
  test.each([
    ['at the top', { surprise: 1 }, '/surprise'],
    ['at the top, named like a response field', { results: [] }, '/results'],
    ['in filters', { filters: { surprise: ['x'] } }, '/filters/surprise'],
    ['in filters, in another spelling', { filters: { languages: ['en'] } }, '/filters/languages'],
    ['at the top, in another case', { Top_K: 5 }, '/Top_K'],
    ['with signs of a JSON pointer', { 'a/b~': 5 }, '/a~1b~0'],
    ['with a long name beyond ASCII', { [`é${'x'.repeat(100)}`]: 5 }, `/?${'x'.repeat(62)}`],
  ])('%s', async (_, body, path) => {
    expect(await refusedAt(body)).toEqual([path])
  })

  test.each(['__proto__', 'constructor', 'prototype', 'toString'])('even when they are named %s', async (name) => {
    const field = `"${name}":{"top_k":1}`
    expect(pathsRefused(await sentWith(field))).toEqual([`/${name}`])
    expect(pathsRefused(await sentWith(`"filters":{${field}}`))).toEqual([`/filters/${name}`])
  })
})

describe('A key that is given twice is rejected, and named', () => {
  test.each([
    ['at the top', '"top_k":1,"top_k":1', '/top_k'],
    ['in filters', '"filters":{"language":["en"],"language":["en"]}', '/filters/language'],
    ['with an escape', String.raw`"top_k":1,"top\u005fk":1`, '/top_k'],
    ['after a value that looks like it', String.raw`"profile":"\"top_k\":1","top_k":1,"top_k" : 1`, '/top_k'],
  ])('%s', async (_, fields, path) => {
    expect(pathsRefused(await sentWith(fields))).toEqual([path])
  })
})
