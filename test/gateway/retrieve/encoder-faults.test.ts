import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { openEmbedder } from '#core/embedding/providers.ts'
import { withProbes } from '#core/embedding/probes.ts'
import { embed, embeddersOf } from '#gateway/retrieve/embed.ts'
import { freePort } from '#operator/demo/local/supervised-process.ts'
import { adjustedNowMs } from '#test/support/clock.ts'
import { COMPILE_CACHE } from '#test/support/processes.ts'
import { TINY_DIMENSIONS, writeTinyModel } from '#test/support/tiny-model.ts'
import { until } from '#test/support/until.ts'
import { context, pinnedRequest } from './pinned.ts'

const program = fileURLToPath(new URL('../../../jobs/encoder/main.ts', import.meta.url))
const QUERY_TIMEOUT_MS = 1_500

let child: ChildProcess

const settings = (): { OPENAI_BASE_URL: string; OPENAI_API_KEY: undefined; OPENAI_TIMEOUT_MS: number } => ({
  OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
  OPENAI_API_KEY: undefined,
  OPENAI_TIMEOUT_MS: QUERY_TIMEOUT_MS,
})

/** As a supervisor starts it, also after it has ended. */
async function startEncoder(weights = 1): Promise<void> {
  const flags = ['--model', writeTinyModel({ weights }), '--port', String(port), '--threads', '1']
  child = spawn(process.execPath, [program, ...flags], {
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: COMPILE_CACHE },
    stdio: 'ignore',
  })
  await until('the encoder is ready', async () => {
    return await fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  })
}

async function end(how: NodeJS.Signals): Promise<void> {
  const exited = once(child, 'exit')
  child.kill(how)
  await exited
}

const port = await freePort()
await startEncoder()
const { signal } = new AbortController()
const { model_digest: _digest, ...bare } = await withProbes(await openEmbedder(settings(), {}, signal), signal)
// Without a digest, as of an endpoint that tells none: the probes alone tell models apart.
const space = bare
const embedderOf = embeddersOf(settings())
afterAll(() => end('SIGKILL'))

const slot = { whileReleased: <T>(work: () => Promise<T>): Promise<T> => work(), release: () => undefined }

/** @returns the number of dimensions of the vector, or the code that the caller sees with the sentence of the log. */
async function asked(): Promise<number | readonly [unknown, string]> {
  const { profile, ...pinned } = pinnedRequest({ request: { query: 'duty report' } })
  const own = { ...pinned, profile: { ...profile, embedding: space } }
  try {
    return (await embed(embedderOf, context(), own, slot)).vector?.length ?? 0
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || !(error.cause instanceof Error)) throw error
    return [error.code, error.cause.message]
  }
}

describe('a query whose encoder', () => {
  for (const [what, how] of [
    ['is killed, as the kernel does for lack of memory', 'SIGKILL'],
    ['aborts, as V8 does for lack of memory', 'SIGABRT'],
  ] as const)
    test(`${what}, is refused in time, and the next one is embedded once the encoder is back`, async () => {
      expect(await asked()).toBe(TINY_DIMENSIONS)
      await end(how)
      const beganMs = adjustedNowMs()
      expect(await asked()).toEqual(['RETRIEVAL_UNAVAILABLE', 'the embedding provider could not be reached'])
      expect(adjustedNowMs() - beganMs).toBeLessThan(2 * QUERY_TIMEOUT_MS)
      await startEncoder()
      expect(await asked()).toBe(TINY_DIMENSIONS)
    })

  test('does not answer, is refused after its time, and the next one is embedded once it answers', async () => {
    child.kill('SIGSTOP')
    const beganMs = adjustedNowMs()
    expect(await asked()).toEqual(['RETRIEVAL_UNAVAILABLE', expect.stringMatching(/did not answer within 2 s/)])
    expect(adjustedNowMs() - beganMs).toBeLessThan(2 * QUERY_TIMEOUT_MS)
    child.kill('SIGCONT')
    await until('a query is embedded', async () => (await asked()) === TINY_DIMENSIONS)
  })

  test('comes back with another model of the same name, is refused until the first one is back', async () => {
    await end('SIGKILL')
    expect(await asked()).toEqual(['RETRIEVAL_UNAVAILABLE', expect.any(String)])
    await startEncoder(2)
    const refused = [
      'RETRIEVAL_UNAVAILABLE',
      expect.stringMatching(/serves another tiny than the version was built with/),
    ]
    expect(await asked()).toEqual(refused)
    expect(await asked()).toEqual(refused)
    await end('SIGKILL')
    await startEncoder()
    expect(await asked()).toBe(TINY_DIMENSIONS)
  })
})
