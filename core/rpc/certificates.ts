import { X509Certificate } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import type { experimental } from '@grpc/grpc-js'
import type { Registry } from 'prom-client'
import { gauge } from '#core/platform/metrics.ts'
import { DAY_MS } from '#core/platform/time.ts'
import { RPC_BOUNDS } from './bounds.ts'

export interface CertificateFiles {
  readonly ca: string
  readonly cert: string
  readonly key: string
}

type Provider = experimental.CertificateProvider
type CaListener = Parameters<Provider['addCaCertificateListener']>[0]
type IdentityListener = Parameters<Provider['addIdentityCertificateListener']>[0]

/**
 * Reads authority, certificate and key again and again, so that new ones need no restart. What does not belong together,
 * as while files are being replaced, is passed over.
 * @throws Error where the files cannot be used at the start.
 */
export function watchCertificates(files: CertificateFiles): Provider {
  const caListeners = new Set<CaListener>()
  const identityListeners = new Set<IdentityListener>()
  let current = read(files)

  function tell(listener: CaListener | IdentityListener): void {
    listener({ caCertificate: current.ca, certificate: current.cert, privateKey: current.key })
  }
  setInterval(() => {
    try {
      const next = read(files)
      if (next.cert.equals(current.cert) && next.key.equals(current.key) && next.ca.equals(current.ca)) return
      current = next
      for (const listener of [...caListeners, ...identityListeners]) tell(listener)
    } catch {
      // The ones before hold; the metric says until when.
    }
  }, RPC_BOUNDS.certificateReadEveryMs).unref()
  return {
    addCaCertificateListener(listener) {
      caListeners.add(listener)
      process.nextTick(tell, listener)
    },
    removeCaCertificateListener: (listener) => void caListeners.delete(listener),
    addIdentityCertificateListener(listener) {
      identityListeners.add(listener)
      process.nextTick(tell, listener)
    },
    removeIdentityCertificateListener: (listener) => void identityListeners.delete(listener),
  }
}

function read({ ca, cert, key }: CertificateFiles) {
  const found = { ca: readFileSync(ca), cert: readFileSync(cert), key: readFileSync(key) }
  createSecureContext(found)
  return found
}

/** Time until the certificate in a file expires, as a metric; absent where it cannot be read. */
export function registerCertificate(registry: Registry, path: string | undefined): void {
  if (path !== undefined) gauge(registry, 'evidence_certificate_expires_seconds', () => [[{}, leftMs(path) / 1_000]])
}

const leftMs = (path: string): number => new X509Certificate(readFileSync(path)).validToDate.getTime() - Date.now()

/** Among the dependencies of `operator status`, a certificate that expires soon or cannot be read. */
export function expiringCertificate(path: string | undefined) {
  if (path === undefined) return {}
  const days = Math.floor((existsSync(path) ? leftMs(path) : 0) / DAY_MS)
  if (days >= RPC_BOUNDS.certificateExpiryDays) return {}
  return { certificate: { state: 'ends', reason: `expires in ${days} days` } }
}
