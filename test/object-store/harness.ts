import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach } from 'vitest'
import { openArtifactStore } from '#core/index/format/store.ts'
import { OBJECT_BOUNDS } from '#core/object-store/bounds.ts'
import { folderOfTest } from '#test/support/folder.ts'
import { startObjectFaults } from '#test/support/object-faults.ts'
import { BUCKET, startObjectServer } from '#test/support/object-store.ts'

/** Short, so that a file of few bytes has parts and a server that is silent is given up soon. */
export const LIMITS = {
  ...OBJECT_BOUNDS,
  callTimeoutMs: 2_000,
  retryFirstMs: 10,
  partBytes: 5 * 1_024 * 1_024,
  rangeBytes: 8_192,
  callsMax: 3,
}

/** A server with a proxy before it, which the SDK of this process uses; both stop after the tests of the file. */
export async function startObjectHarness() {
  const server = await startObjectServer()
  const faults = await startObjectFaults(server.endpoint)
  const before = { ...process.env }
  let stores = 0
  /** The SDK reads the environment when a store is opened. */
  const use = (environment: Readonly<Record<string, string>>) =>
    Object.assign(process.env, environment, { AWS_ENDPOINT_URL_S3: faults.endpoint })
  beforeEach(() => {
    faults.pass()
    use(server.environment)
  })
  afterAll(async () => {
    await faults.stop()
    await server.stop()
    for (const name of Object.keys(server.environment)) Reflect.deleteProperty(process.env, name)
    Object.assign(process.env, before)
  })
  return {
    server,
    faults,
    use,
    /** URL of a prefix that no other test has. */
    newUrl: () => `s3://${BUCKET}/test/${(stores += 1)}`,
    /** A store with a folder of copies of its own. */
    open(url: string, { cache = folderOfTest(), megabytes = 100, inUse }: OpenOptions = {}) {
      const settings = { ARTIFACT_STORE: url, ARTIFACT_CACHE: cache, ARTIFACT_CACHE_MAX_MB: megabytes }
      const store = openArtifactStore(settings, { limits: LIMITS, ...(inUse === undefined ? {} : { inUse }) })
      return Object.assign(store, { cache })
    },
  }
}

interface OpenOptions {
  readonly cache?: string
  readonly megabytes?: number
  readonly inUse?: () => readonly string[]
}

export function written(path: string, bytes: Uint8Array | string): string {
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, bytes)
  return path
}
