import { ServerCredentials, credentials, experimental, type ChannelCredentials } from '@grpc/grpc-js'
import { hostAndPort, isLoopbackHost, type ConfigOf } from '#core/platform/config.ts'
import { watchCertificates } from './certificates.ts'
import type { TRANSPORT_SETTINGS } from './settings.ts'

/** Transport to the search tier: mutual TLS with three files, or plaintext. */
export type TransportSettings = ConfigOf<typeof TRANSPORT_SETTINGS>

const TLS_VARIABLES = ['SEARCH_TLS_CA', 'SEARCH_TLS_CERT', 'SEARCH_TLS_KEY'] as const

/**
 * Returns one sentence for each conflict in a configuration. Plaintext is refused on anything but loopback unless it is
 * explicitly allowed.
 * @param settings without those that are invalid by themselves.
 */
export function transportFaults(addresses: readonly string[], settings: Partial<TransportSettings>): string[] {
  if (TLS_VARIABLES.some((name) => !(name in settings))) return []
  const given = TLS_VARIABLES.filter((name) => settings[name] !== undefined)
  if (given.length === TLS_VARIABLES.length) return []
  if (given.length > 0)
    return ['Mutual TLS needs SEARCH_TLS_CA, SEARCH_TLS_CERT and SEARCH_TLS_KEY together; set all three or none.']
  if (settings.SEARCH_PLAINTEXT === 'allow') return []
  return addresses
    .filter((address) => !isLoopbackHost(hostAndPort(address.slice(address.indexOf('/') + 1)).host))
    .map(
      (address) =>
        `${address} is not a loopback address: set SEARCH_TLS_CA, SEARCH_TLS_CERT and ` +
        'SEARCH_TLS_KEY, or SEARCH_PLAINTEXT=allow on a network that you trust.',
    )
}

/** @throws Error if the settings conflict (`transportFaults`). */
export function clientCredentials(address: string, settings: TransportSettings): ChannelCredentials {
  const tls = tlsFiles(address, settings)
  return tls === undefined
    ? credentials.createInsecure()
    : experimental.createCertificateProviderChannelCredentials(tls, tls)
}

/** @throws Error if the settings conflict (`transportFaults`). */
export function serverCredentials(address: string, settings: TransportSettings): ServerCredentials {
  const tls = tlsFiles(address, settings)
  return tls === undefined
    ? ServerCredentials.createInsecure()
    : experimental.createCertificateProviderServerCredentials(tls, tls, true)
}

/** One for all channels, because a watch never ends. */
const providers = new Map<string, ReturnType<typeof watchCertificates>>()

function tlsFiles(address: string, settings: TransportSettings) {
  const [fault] = transportFaults([address], settings)
  if (fault !== undefined) throw new Error(fault)
  const { SEARCH_TLS_CA: ca, SEARCH_TLS_CERT: cert, SEARCH_TLS_KEY: key } = settings
  if (ca === undefined || cert === undefined || key === undefined) return undefined
  const files = [ca, cert, key].join('\0')
  const watched = providers.get(files) ?? watchCertificates({ ca, cert, key })
  providers.set(files, watched)
  return watched
}
