import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

/** Paths of PEM files. */
export interface Certificates {
  readonly ca: string
  readonly cert: string
  readonly key: string
}

const OPENSSL = 'openssl'
const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

/** A certificate authority and, signed by it, a certificate that is good for 127.0.0.1. Their files are in `folder`. */
export function makeCertificates(folder: string, name: string): Certificates {
  const openssl = (...parameters: string[]): void => {
    try {
      execFileSync(OPENSSL, ['req', '-x509', ...NEW_KEY, '-days', '2', ...parameters], { cwd: folder, stdio: 'pipe' })
    } catch (error) {
      throw new Error('This test makes certificates with the openssl command: install it and put it on the PATH.', {
        cause: error,
      })
    }
  }
  const file = (end: string): string => join(folder, `${name}${end}`)
  openssl('-keyout', file('-ca.key'), '-out', file('-ca.pem'), '-subj', `/CN=${name} authority`)
  const signed = ['-addext', 'subjectAltName=IP:127.0.0.1', '-CA', file('-ca.pem'), '-CAkey', file('-ca.key')]
  openssl('-keyout', file('.key'), '-out', file('.pem'), '-subj', `/CN=${name}`, ...signed)
  return { ca: file('-ca.pem'), cert: file('.pem'), key: file('.key') }
}
