import { generateKeyPairSync, randomBytes } from 'node:crypto'

/** Values for the secret variables, made for one test; the shape is that of the environment. */
export interface TestSecrets {
  readonly KEY_PEPPERS: string
  readonly SERVICE_SECRET: string
  readonly MANIFEST_PUBLIC_KEY: string
  readonly MANIFEST_PRIVATE_KEY: string
}

export function testSecrets(): TestSecrets {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  return {
    KEY_PEPPERS: `test:${randomBytes(32).toString('base64')}`,
    SERVICE_SECRET: randomBytes(32).toString('base64'),
    MANIFEST_PUBLIC_KEY: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
    MANIFEST_PRIVATE_KEY: privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
  }
}
