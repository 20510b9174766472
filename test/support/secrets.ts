import { execFileSync } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { join } from 'node:path'

/** A signing pair as the configuration holds it: PKCS #8 and SPKI, DER. */
export function signingKeys(): { readonly privateKeyDer: Buffer; readonly publicKeyDer: Buffer } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  return {
    privateKeyDer: privateKey.export({ format: 'der', type: 'pkcs8' }),
    publicKeyDer: publicKey.export({ format: 'der', type: 'spki' }),
  }
}

export type TestSecrets = ReturnType<typeof testSecrets>

/** Values for the secret variables, made for one test; the shape is that of the environment. */
export function testSecrets() {
  const { publicKeyDer, privateKeyDer } = signingKeys()
  return {
    KEY_PEPPERS: `test:${randomBytes(32).toString('base64')}`,
    SERVICE_SECRET: randomBytes(32).toString('base64'),
    MANIFEST_PUBLIC_KEY: publicKeyDer.toString('base64'),
    MANIFEST_PRIVATE_KEY: privateKeyDer.toString('base64'),
  }
}

export type Certificates = ReturnType<typeof makeCertificates>

const OPENSSL = 'openssl'
const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

/** A certificate authority and, signed by it, a certificate that is good for 127.0.0.1. @returns paths of PEM files. */
export function makeCertificates(folder: string, name: string, days = 2) {
  const openssl = (...parameters: string[]): void => {
    try {
      execFileSync(OPENSSL, ['req', '-x509', ...NEW_KEY, '-days', `${days}`, ...parameters], {
        cwd: folder,
        stdio: 'pipe',
      })
    } catch (error) {
      throw new Error('This test makes certificates with the openssl command: install it and put it on the PATH.', {
        cause: error,
      })
    }
  }
  const file = (end: string): string => join(folder, `${name}${end}`)
  openssl('-keyout', file('-ca.key'), '-out', file('-ca.pem'), '-subj', `/CN=${name} authority`)
  const signed = [
    '-addext',
    'subjectAltName=IP:127.0.0.1,DNS:nodes.example',
    '-CA',
    file('-ca.pem'),
    '-CAkey',
    file('-ca.key'),
  ]
  openssl('-keyout', file('.key'), '-out', file('.pem'), '-subj', `/CN=${name}`, ...signed)
  return { ca: file('-ca.pem'), cert: file('.pem'), key: file('.key') }
}
