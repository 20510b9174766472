import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { COMPILE_CACHE, startProgram } from '#test/support/processes.ts'
import { startEmbeddingEndpoint, vectorsByWords, type EmbeddingEndpoint } from '#test/support/embedding-endpoint.ts'
import { COUNSEL, rewriterCalls, startReaderEndpoint } from '#test/support/reader-endpoint.ts'
import { folderOfTest } from '#test/support/folder.ts'

let folder: string
let endpoint: EmbeddingEndpoint
beforeEach(async () => {
  folder = folderOfTest()
  mkdirSync(join(folder, 'corpus'))
  copyFileSync('operator/demo/corpus/rulebook/hsfa-conduct-harbour.2023-09-01.md', join(folder, 'corpus/rulebook.md'))
  endpoint = await startEmbeddingEndpoint(vectorsByWords())
})
afterEach(() => endpoint.stop())

async function demo(...args: readonly string[]) {
  const own = ['--data-dir', join(folder, 'data'), '--corpus', join(folder, 'corpus')]
  const env = { PATH: process.env['PATH'], NODE_COMPILE_CACHE: COMPILE_CACHE, THE_KEY: 'sk-of-the-demo' }
  const { said, ended } = startProgram(['operator/demo/main.ts', '--once', ...own, ...args], env)
  return { code: await ended, text: said.both }
}

test('words alone rank without flags; with --embeddings, jobs and gateway use the endpoint, and a new model sends its passages once', async () => {
  const key = ['--embeddings', endpoint.baseUrl, '--embedding-key-env', 'THE_KEY']
  const plain = await demo()
  expect(plain).toMatchObject({ code: 0, text: expect.stringMatching(/Encoder: none, words alone rank[^]*200 /) })
  expect((await demo('--embedding', 'none')).text).toContain('the active version is built from this source already')
  expect(endpoint.requests).toEqual([])
  const first = await demo('--embedding-model', 'first', '--embedding-passage-prefix', 'tell: ', ...key)
  expect(first).toMatchObject({ code: 0 })
  expect(new Set(endpoint.requests.map(({ authorization }) => authorization))).toEqual(
    new Set(['Bearer sk-of-the-demo']),
  )
  const passages = endpoint.passages().filter((text) => text.startsWith('tell: '))
  expect(passages.length).toBeGreaterThan(10)
  expect(new Set(passages).size).toBe(passages.length)
  expect(first.text + readFileSync(join(folder, 'data/logs/jobs.log'), 'utf8')).not.toContain('sk-of-the-demo')

  const before = endpoint.requests.length
  const again = await demo('--embedding-model', 'first', '--embedding-passage-prefix', 'tell: ', ...key)
  expect(again.text).toContain('the active version is built from this source already')
  expect(
    endpoint.requests.slice(before).flatMap(({ input }) => input.filter((text) => text.startsWith('tell: '))),
  ).toEqual([])
})

test('with --assist, an everyday question is answered with the chat model that is not answered without', async () => {
  copyFileSync('operator/demo/corpus/rulebook/hsfa-conduct-mainland.2024-07-01.md', join(folder, 'corpus/rulebook.md'))
  const chat = await startReaderEndpoint()
  onTestFinished(() => chat.stop())
  const { code, text } = await demo('--assist', chat.baseUrl, COUNSEL, '--assist-key-env', 'THE_KEY')
  expect(code, text).toBe(0)
  expect(text).toMatch(/4\. An everyday question, without assistance: [^→]+→ 200 abstain: evidence_probability /)
  expect(text).toMatch(/5\. The same[^]+ → 200 answer: \w+_with_reader 0\.99\d ≥ threshold 0\.500, \d passage/)
  expect((await rewriterCalls(chat.baseUrl, 'over the phone'))[0]).toMatchObject({
    model: COUNSEL,
    authorization: 'Bearer sk-of-the-demo',
  })
})
