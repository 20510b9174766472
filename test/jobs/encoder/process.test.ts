import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { freePort } from '#operator/demo/local/supervised-process.ts'
import { COMPILE_CACHE } from '#test/support/processes.ts'
import { TINY_DIMENSIONS, TINY_TOKENS_MAX, tinyVector, writeTinyModel } from '#test/support/tiny-model.ts'
import { until } from '#test/support/until.ts'

const program = fileURLToPath(new URL('../../../jobs/encoder/main.ts', import.meta.url))
const environment = { PATH: process.env['PATH'], NODE_COMPILE_CACHE: COMPILE_CACHE }

const replySchema = z.object({
  data: z.array(z.object({ index: z.int(), embedding: z.union([z.string(), z.array(z.number())]) })),
})

const port = await freePort()
const base = `http://127.0.0.1:${port}`
const child = spawn(
  process.execPath,
  [program, '--model', writeTinyModel(), '--port', String(port), '--threads', '1'],
  { env: environment, stdio: 'ignore' },
)
const ready = async (): Promise<boolean> =>
  await fetch(`${base}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  )
await until('the encoder is ready', ready)
afterAll(async () => {
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
})

async function post(body: unknown): Promise<Response> {
  return await fetch(`${base}/v1/embeddings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

async function vectorsOf(input: string | readonly string[], encoding_format = 'base64'): Promise<Float32Array[]> {
  const { data } = replySchema.parse(await (await post({ model: 'tiny', input, encoding_format })).json())
  return data.map(({ embedding }) =>
    typeof embedding === 'string'
      ? new Float32Array(Uint8Array.from(Buffer.from(embedding, 'base64')).buffer)
      : Float32Array.from(embedding),
  )
}

function cosine(a: Float32Array | undefined, b: Float32Array | undefined): number {
  return (a ?? new Float32Array()).reduce((sum, value, at) => sum + value * (b?.[at] ?? 0), 0)
}

describe('the encoder as a process', () => {
  test('tells what its callers need to know of the model', async () => {
    const models = z.object({ data: z.array(z.unknown()) }).parse(await (await fetch(`${base}/v1/models`)).json())
    expect(models.data).toEqual([
      expect.objectContaining({
        id: 'tiny',
        dimensions: TINY_DIMENSIONS,
        max_tokens: TINY_TOKENS_MAX,
        digest: expect.stringMatching(/^[0-9a-f]{64}$/),
        prompts: { query: 'query: ', passage: 'passage: ' },
      }),
    ])
  })

  test('gives the mean of the token vectors, of one text or of texts of other lengths, in both formats', async () => {
    const texts = ['query: duty report', 'query: bank', 'passage: breach notify within days']
    const expected = texts.map((text) => tinyVector(text.split(' ')))
    for (const format of ['base64', 'float']) {
      const vectors = await vectorsOf(texts, format)
      expect(vectors).toHaveLength(texts.length)
      for (const [at, vector] of vectors.entries()) expect(cosine(vector, expected[at])).toBeCloseTo(1, 5)
    }
    expect(cosine((await vectorsOf('query: bank'))[0], expected[1])).toBeCloseTo(1, 5)
  })

  test('embeds a text longer than the model takes to its end, in windows that begin with its prompt', async () => {
    const long = `passage: ${'duty '.repeat(40)}`
    const [start] = await vectorsOf(long)
    const [whole] = await vectorsOf(`${long}${'breach '.repeat(40)}`)
    const oneWindow = tinyVector(['passage:', ...new Array<string>(TINY_TOKENS_MAX - 3).fill('duty')])
    expect(cosine(start, oneWindow)).toBeCloseTo(1, 5)
    const words = [...new Array<string>(40).fill('duty'), ...new Array<string>(40).fill('breach')]
    const own = TINY_TOKENS_MAX - 3
    const [first = new Float32Array(), ...others] = Array.from({ length: words.length - own + 1 }, (_, at) =>
      tinyVector(['passage:', ...words.slice(at, at + own)]),
    )
    const sum = first.map((value, i) =>
      others.reduce((total, each) => total + (each[i] ?? 0), 3 * others.length * value),
    )
    expect(cosine(sum, whole) / Math.sqrt(cosine(sum, sum))).toBeCloseTo(1, 5)
    expect(await (await fetch(`${base}/metrics`)).text()).toMatch(/evidence_encoder_windowed_texts_total 2\b/)
  })

  test('refuses what it cannot do, without repeating it', async () => {
    const secret = 'confidential'
    const refused: readonly [number, unknown][] = [
      [404, { model: secret, input: 'duty' }],
      [400, { model: 'tiny', input: 'duty', dimensions: 4 }],
      [400, { model: 'tiny', input: [] }],
      [400, { model: 'tiny', input: new Array<string>(300).fill(secret) }],
      [400, { model: 'tiny', input: secret.repeat(30_000) }],
      [400, { model: 'tiny', input: [secret, 3] }],
    ]
    for (const [status, body] of refused) {
      const response = await post(body)
      expect(response.status).toBe(status)
      expect(await response.text()).not.toContain(secret)
    }
  })
})
