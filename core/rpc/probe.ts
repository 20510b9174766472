import { Client, Metadata } from '@grpc/grpc-js'
import { service } from 'grpc-health-check'
import { z } from 'zod'
import { RPC_BOUNDS } from './bounds.ts'
import { clientCredentials } from './transport.ts'

/**
 * Queries the standard gRPC health service, for a container's health check. Exits with 0 if it is serving, else with 1
 * and a sentence.
 *
 * Usage: `node core/rpc/probe.ts host:port [ca.pem cert.pem key.pem]`
 */
const replySchema = z.object({ status: z.string() })

/** Returns the status of the whole server, e.g. `SERVING`. */
function askHealth(address: string, tlsFiles: readonly string[]): Promise<string> {
  const [ca, cert, key] = tlsFiles
  const client = new Client(
    address,
    clientCredentials(address, {
      SEARCH_TLS_CA: ca,
      SEARCH_TLS_CERT: cert,
      SEARCH_TLS_KEY: key,
      SEARCH_PLAINTEXT: 'refuse',
    }),
  )
  return new Promise((resolve, reject) => {
    const check = service['Check']
    if (check === undefined) throw new Error('the health service names no method Check')
    client.makeUnaryRequest(
      check.path,
      check.requestSerialize,
      check.responseDeserialize,
      { service: '' },
      new Metadata(),
      { deadline: Date.now() + RPC_BOUNDS.healthProbeTimeoutMs },
      (error, reply) => {
        client.close()
        if (error === null) resolve(replySchema.parse(reply).status)
        else reject(error)
      },
    )
  })
}

const [address, ...tlsFiles] = process.argv.slice(2)
try {
  if (address === undefined)
    throw new Error('name the address to ask: node core/rpc/probe.ts host:port [ca.pem cert.pem key.pem]')
  const status = await askHealth(address, tlsFiles)
  if (status !== 'SERVING') throw new Error(`the server answered ${status}`)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : 'The probe failed'}\n`)
  process.exitCode = 1
}
