import { appendFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { PassageRecord } from '#core/index/passages/record.ts'
import type { PlacedExpansion } from '#core/index/query-expansions/writer.ts'
import { BUILD_BOUNDS } from '#jobs/version-build/bounds.ts'
import { createQuestionWriter } from '#jobs/version-build/search-questions/writer.ts'
import type { EndpointSettings } from '#core/embedding/providers.ts'
import type { EndpointOptions } from '#core/embedding/settings.ts'
import { writtenQuestions } from '#jobs/version-build/search-questions/written.ts'
import { QUIET_BUILD } from '../quiet-build.ts'
import { bodyOf, send, startJsonServer, type JsonServer } from '#test/support/json-server.ts'
import { testPassage } from '#test/support/passages.ts'
import { storeIn } from '#test/support/artifact.ts'
import { folderOfFile } from '#test/support/folder.ts'

const requestSchema = z.object({
  model: z.string(),
  max_completion_tokens: z.int(),
  messages: z.array(z.object({ role: z.string(), content: z.string() })),
  response_format: z.object({ type: z.literal('json_schema') }),
})
const sentSchema = z.array(z.object({ number: z.int(), language: z.string(), heading: z.string(), text: z.string() }))
type Sent = z.infer<typeof sentSchema>

const folder = folderOfFile()
const passages = Array.from({ length: 20 }, (_, n) => testPassage(n))

/** What the model replies to the passages of a request: a status, or the content of its message. */
let reply: (sent: Sent, request: number) => number | string
let requests: { readonly body: z.infer<typeof requestSchema>; readonly sent: Sent }[]
let warned: string[]
let server: JsonServer
let root: string

const written = (sent: Sent, of: (passage: Sent[number]) => readonly string[]): string =>
  JSON.stringify({ passages: sent.map((passage) => ({ number: passage.number, questions: of(passage) })) })
const twoEach = (sent: Sent): string => written(sent, ({ text }) => [`Who does ${text.slice(0, 10)}?`, ' And\nwhy? '])

beforeEach(async () => {
  requests = []
  warned = []
  reply = twoEach
  root = mkdtempSync(join(folder, 'store-'))
  server = await startJsonServer((request, response) => {
    void bodyOf(request).then((received) => {
      expect(request.url).toBe('/v1/chat/completions')
      const body = requestSchema.parse(received)
      const sent = sentSchema.parse(JSON.parse(body.messages.at(-1)?.content ?? ''))
      requests.push({ body, sent })
      const answer = reply(sent, requests.length)
      if (typeof answer === 'number') send(response, answer, { error: { message: 'secret text', type: 'refused' } })
      else send(response, 200, { choices: [{ message: { content: answer } }] })
    })
  })
})
afterEach(() => server.stop())

const settings = (): EndpointSettings => ({ OPENAI_BASE_URL: server.baseUrl, OPENAI_API_KEY: undefined })

async function build(
  rows: readonly PassageRecord[] = passages,
  options: EndpointOptions = { chat_model: 'writer' },
): Promise<readonly PlacedExpansion[]> {
  const workFolder = join(root, 'work')
  mkdirSync(workFolder, { recursive: true })
  writeFileSync(join(workFolder, 'passages.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  const store = storeIn(root)
  const context = {
    workFolder,
    store,
    vectors: { concurrency: 2, batchTexts: 8, cache: { path: store.vectorCacheFile, bytesMax: 1 } },
    progress: QUIET_BUILD.progress,
    warn: (sentence: string) => void warned.push(sentence),
    signal: new AbortController().signal,
  }
  return await writtenQuestions(context, rows.length, createQuestionWriter(settings(), options))
}

const passagesSent = (): number => requests.reduce((sum, { sent }) => sum + sent.length, 0)

describe('search questions that a model writes', () => {
  test('belong to the passages that were sent, in batches of bounded tokens, after the price was told', async () => {
    const placed = await build()
    expect(placed).toHaveLength(40)
    expect(placed.slice(0, 2)).toEqual([
      { row: 0, id: 'doc-0#r0', lang: 'en', q: 'Who does Passage 0.?' },
      { row: 0, id: 'doc-0#r0', lang: 'en', q: 'And why?' },
    ])
    expect(requests.map(({ sent }) => sent.length).toSorted((a, b) => a - b)).toEqual([4, 8, 8])
    for (const { body, sent } of requests) {
      expect(body.model).toBe('writer')
      expect(body.max_completion_tokens).toBe(sent.length * BUILD_BOUNDS.searchQuestionTokensMax)
    }
    expect(warned).toEqual([expect.stringMatching(/of 20 passages are asked of writer: about \d+ tokens .* 6000 are/)])
  })

  test('are kept: a later build sends what has changed alone, and another model writes them anew', async () => {
    const placed = await build()
    requests = []
    expect(await build()).toEqual(placed)
    expect(requests).toEqual([])
    await build([...passages.slice(0, 19), testPassage(19, { text: 'Another text.' })])
    expect(passagesSent()).toBe(1)
    await build(passages, { chat_model: 'another' })
    expect(passagesSent()).toBe(21)
  })

  test('of a build that failed are not asked for again, and half a line of its file is a miss', async () => {
    reply = (sent, request) => (request > 2 ? 401 : twoEach(sent))
    await expect(build()).rejects.toThrow(/status 401/)
    appendFileSync(join(root, 'vectors', 'search-questions.jsonl'), '{"key":"')
    const before = passagesSent()
    reply = twoEach
    expect(await build()).toHaveLength(40)
    expect(passagesSent() - before).toBeLessThan(20)
    requests = []
    expect(await build()).toHaveLength(40)
    expect(requests).toEqual([])
  })

  test('are asked for again where the endpoint is unavailable for a moment', async () => {
    reply = (sent, request) => (request === 1 ? 503 : twoEach(sent))
    expect(await build(passages.slice(0, 1))).toHaveLength(2)
    expect(requests).toHaveLength(2)
  })

  test.each<[string, (sent: Sent) => number | string]>([
    ['refused', () => 400],
    ['no JSON', () => 'Here are your questions:'],
    ['of another number of passages', (sent) => twoEach(sent.slice(1))],
    ['of passages that were not sent', (sent) => twoEach(sent.map((passage) => ({ ...passage, number: 99 })))],
  ])('leave out one passage whose reply is %s, and have the others', async (_, faulty) => {
    reply = (sent) => (sent.some(({ text }) => text.startsWith('Passage 3.')) ? faulty(sent) : twoEach(sent))
    const rows = new Set((await build(passages.slice(0, 8))).map(({ row }) => row))
    expect([...rows]).toEqual([0, 1, 2, 4, 5, 6, 7])
  })

  test('are bounded in number and length, and none is blank', async () => {
    const long = 'x'.repeat(BUILD_BOUNDS.searchQuestionCharactersMax + 1)
    reply = (sent) => written(sent, () => [' ', long, 'One?', 'One?', 'Two?', 'Three?'])
    expect((await build(passages.slice(0, 1))).map(({ q }) => q)).toEqual(['One?', 'Two?'])
  })

  test('fail the build in one sentence where the endpoint refuses the first request, or writes none', async () => {
    reply = () => 400
    const refused = build(passages.slice(0, 2))
    await expect(refused).rejects.toThrow(/^The endpoint writes no search questions, .*status 400 \(refused\): check/)
    await expect(refused).rejects.not.toThrow(/secret text/)
    reply = (sent) => written(sent, () => [])
    await expect(build(passages.slice(0, 2))).rejects.toThrow(/wrote no search question that can be used/)
  })

  test('need a model and an endpoint', () => {
    expect(() => createQuestionWriter(settings())).toThrow(/need --chat-model/)
    const none = { ...settings(), OPENAI_BASE_URL: undefined }
    expect(() => createQuestionWriter(none, { chat_model: 'writer' })).toThrow(/OPENAI_BASE_URL/)
  })
})
