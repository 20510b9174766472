import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'

const keysSchema = z.strictObject({
  valid: z.string(),
  no_scope: z.string(),
  expired: z.string(),
  revoked: z.string(),
  wrong_environment: z.string(),
})

const stateSchema = z.strictObject({
  secrets: z.strictObject({
    KEY_PEPPERS: z.string(),
    SERVICE_SECRET: z.string(),
    MANIFEST_PUBLIC_KEY: z.string(),
    MANIFEST_PRIVATE_KEY: z.string(),
  }),
  /** Keys by knowledge base. The service shows a key only once, so the demo stores its own. */
  keys: z.record(z.string(), keysSchema),
  /** SHA-256 of the source of each knowledge base, so that the same source is not built twice. */
  built_from: z.record(z.string(), z.string()),
})

/** State that the demo keeps between starts, readable by its owner only. */
export type DemoState = z.infer<typeof stateSchema>
export type DemoKeys = z.infer<typeof keysSchema>

export function readOrCreateState(file: string): DemoState {
  if (existsSync(file)) return stateSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const state: DemoState = {
    secrets: {
      KEY_PEPPERS: `demo:${randomBytes(32).toString('base64')}`,
      SERVICE_SECRET: randomBytes(32).toString('base64'),
      MANIFEST_PUBLIC_KEY: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
      MANIFEST_PRIVATE_KEY: privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
    },
    keys: {},
    built_from: {},
  }
  writeState(file, state)
  return state
}

export function writeState(file: string, state: DemoState): void {
  writePrivately(file, JSON.stringify(state, null, 2))
}

export function writePrivately(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(`${file}.tmp`, `${text}\n`, { mode: 0o600 })
  renameSync(`${file}.tmp`, file)
}
