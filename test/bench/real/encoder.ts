import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { sha256 } from '#core/platform/digest.ts'
import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { openVectorCache } from '#core/db/vector-cache/cache.ts'
import type { VectorCache } from '#core/db/vector-cache/cache.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { startService } from '#operator/demo/local/processes.ts'
import { freePort } from '#operator/demo/local/supervised-process.ts'
import { MODEL_FOLDER } from './texts.ts'

/** What runs the encoder. It is not a dependency of the project; only this measurement installs it. */
const PACKAGE = 'onnxruntime-node@1.30.0'
export const REAL_DIMENSIONS = 384
const TEXTS_AT_ONCE = 32
const REQUEST_TIMEOUT_MS = 300_000

const replySchema = z.object({ data: z.array(z.object({ index: z.int(), embedding: z.array(z.number()) })) })

/** The vectors of earlier runs; a text is encoded once. */
function openRealCache(dataDir: string): VectorCache {
  return openVectorCache(join(dataDir, 'real-vectors.db'), {
    space: 'multilingual-e5-small',
    dimensions: REAL_DIMENSIONS,
    bytesMax: DATABASE_BOUNDS.vectorCacheBytesDefault,
    onFault: (error) => {
      throw error
    },
  })
}

/** @param texts with the prefix of their role. @returns those of the texts that are in the cache, in order. */
export function cachedVectors(dataDir: string, texts: readonly string[]): readonly Float32Array<ArrayBuffer>[] {
  const cache = openRealCache(dataDir)
  try {
    return texts.flatMap((text) => {
      const digest = sha256(text)
      return cache.read([digest]).get(digest.toString('hex'))?.vector ?? []
    })
  } finally {
    cache.close()
  }
}

/** Encodes the texts that the cache lacks. */
export async function encodeMissing(dataDir: string, texts: readonly string[], steps: Steps): Promise<void> {
  const cache = openRealCache(dataDir)
  try {
    const missing = [...new Set(texts)].filter((text) => {
      const digest = sha256(text)
      return !cache.read([digest]).has(digest.toString('hex'))
    })
    if (missing.length === 0) return
    const modules = installed(dataDir)
    const port = await freePort()
    const encoder = await startService({
      name: 'encoder',
      script: join(MODEL_FOLDER, 'serve.mjs'),
      args: ['--port', String(port)],
      environment: { NODE_PATH: modules },
      logFile: join(dataDir, 'logs', 'encoder.log'),
      ready: async () => (await encoded(port, ['query: ready'])).length === 1,
    })
    steps.watch(encoder)
    for (let first = 0; first < missing.length; first += TEXTS_AT_ONCE) {
      const some = missing.slice(first, first + TEXTS_AT_ONCE)
      const vectors = await encoded(port, some)
      cache.write(
        some.flatMap((text, at) => {
          const vector = vectors[at]
          return vector === undefined ? [] : [{ digest: sha256(text), vector, overlong: false }]
        }),
      )
      if ((first / TEXTS_AT_ONCE) % 20 === 0) steps.note(`${first} of ${missing.length} texts are encoded`)
    }
  } finally {
    cache.close()
  }
}

async function encoded(port: number, input: readonly string[]): Promise<readonly Float32Array<ArrayBuffer>[]> {
  const reply = await fetch(`http://127.0.0.1:${port}/v1/embeddings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'multilingual-e5-small', input, encoding_format: 'float' }),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  })
  if (!reply.ok) throw new Error(`The encoder answered ${reply.status}; its log says why.`)
  const { data } = replySchema.parse(await reply.json())
  return data.toSorted((a, b) => a.index - b.index).map(({ embedding }) => Float32Array.from(embedding))
}

/** @returns the folder of packages. @throws Error with what to do where it cannot be installed. */
function installed(dataDir: string): string {
  const folder = join(dataDir, 'encoder', PACKAGE)
  const modules = join(folder, 'node_modules')
  if (existsSync(join(folder, 'complete'))) return modules
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"private":true}\n')
  const { status } = spawnSync(
    'npm',
    ['install', '--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error', PACKAGE],
    { cwd: folder, stdio: 'ignore' },
  )
  if (status !== 0)
    throw new Error(`The encoder's runtime cannot be installed: run "npm install ${PACKAGE}" in ${folder} to see why.`)
  writeFileSync(join(folder, 'complete'), '')
  return modules
}
