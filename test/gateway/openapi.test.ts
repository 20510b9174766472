import { readFileSync } from 'node:fs'
import { BaseResolver, createConfig, lintDocument, makeDocumentFromString } from '@redocly/openapi-core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { openApiDocument } from '#gateway/openapi.ts'
import { breakingChanges, dereferenced } from '#test/support/openapi-changes.ts'

const document = JSON.stringify(openApiDocument())
const released = readFileSync(new URL('./openapi-released.json', import.meta.url), 'utf8')

const bodySchema = z.object({
  'application/json': z.object({
    schema: z.record(z.string(), z.unknown()),
    example: z.unknown().optional(),
    examples: z.record(z.string(), z.object({ value: z.unknown() })).default({}),
  }),
})
const operationSchema = z.object({
  requestBody: z.object({ content: bodySchema }),
  responses: z.record(z.string(), z.object({ content: bodySchema })),
})

describe('The OpenAPI document', () => {
  test('is valid, with every recommended rule of Redocly', async () => {
    const problems = await lintDocument({
      document: makeDocumentFromString(document, 'openapi.json'),
      config: await createConfig({ extends: ['recommended-strict'] }),
      externalRefResolver: new BaseResolver(),
    })
    expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([])
  })

  test('has an example of the request and of each status, which fits its schema', () => {
    const { paths } = z
      .object({ paths: z.object({ '/v1/retrieve': z.object({ post: operationSchema }) }) })
      .parse(dereferenced(JSON.parse(document)))
    const { requestBody, responses } = paths['/v1/retrieve'].post
    for (const [name, { content }] of Object.entries({ request: requestBody, ...responses })) {
      const { schema, example, examples } = content['application/json']
      const given = [...(example === undefined ? [] : [example]), ...Object.values(examples).map(({ value }) => value)]
      expect([name, given.length > 0]).toEqual([name, true])
      for (const value of given)
        expect([name, z.fromJSONSchema(schema).safeParse(value).error?.issues]).toEqual([name, undefined])
    }
  })

  test('breaks no caller of the last release: its document is openapi-released.json', () => {
    expect(breakingChanges(JSON.parse(released), JSON.parse(document))).toEqual([])
  })

  test('may gain a field of an answer, and loses none', () => {
    const score = '"score":{"type":"number"'
    expect(document).toContain(score)
    const faults = (field: string): readonly string[] =>
      breakingChanges(JSON.parse(document), JSON.parse(document.replace(score, field)))
    expect(faults(`"rank":{"type":"integer"},${score}`)).toEqual([])
    expect(faults('"score":{"type":"string"')).toContain('post /v1/retrieve 200|0/results/*/score: type changed')
  })
})

/** The released document with one text replaced. */
function changed(from: string | RegExp, to: string): unknown {
  const text = JSON.stringify(JSON.parse(released)).replace(from, to)
  expect(text).not.toBe(JSON.stringify(JSON.parse(released)))
  return JSON.parse(text)
}

describe('A comparison of documents', () => {
  test.each([
    ['a field of the request that is gone', '"top_k":{"type":"integer"', '"top":{"type":"integer"'],
    [
      'a field of the request that becomes required',
      '"required":["query","knowledge_base"]',
      '"required":["query","knowledge_base","top_k"]',
    ],
    ['a bound of the request that is tighter', '"maxLength":4000', '"maxLength":3999'],
    ['a field of a reply that may be missing', '"required":["decision","signal",', '"required":["signal",'],
    ['a field of a reply with another type', '"score":{"type":"number"', '"score":{"type":"string"'],
    ['a value that a reply did not have', '"enum":["answer","abstain"]', '"enum":["answer","abstain","maybe"]'],
    [
      'a type that a reply did not have',
      '"signal":{"type":"string"}',
      '"signal":{"anyOf":[{"type":"string"},{"type":"null"}]}',
    ],
    ['a status that is gone', '"413":{', '"414":{'],
    ['a header that is gone', '"Allow":{"$ref"', '"Allowed":{"$ref"'],
    ['a path that is gone', '"/v1/retrieve":', '"/v2/retrieve":'],
  ])('finds %s', (_, from, to) => {
    expect(breakingChanges(JSON.parse(released), changed(from, to))).not.toEqual([])
  })

  test.each([
    ['a field more in a reply', '"signal":{"type":"string"}', '"signal":{"type":"string"},"reader":{"type":"string"}'],
    ['the values of a text of a reply', '"signal":{"type":"string"}', '"signal":{"type":"string","enum":["evidence"]}'],
    ['a wider bound of the request', '"maxLength":4000', '"maxLength":5000'],
    ['another description', '"The one operation"', '"The operation"'],
  ])('takes %s', (_, from, to) => {
    expect(breakingChanges(JSON.parse(released), changed(from, to))).toEqual([])
  })
})
