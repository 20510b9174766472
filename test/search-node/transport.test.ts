import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { credentials, status } from '@grpc/grpc-js'
import { expect, test } from 'vitest'
import { openSearchNodeClient } from '#core/rpc/search-client.ts'
import { clientCredentials } from '#core/rpc/transport.ts'
import { makeCertificates, signingKeys } from '#test/support/secrets.ts'
import { freePort } from '#operator/demo/local/supervised-process.ts'
import { PLAINTEXT, nodeEnvironment, spawnNode, startNode, type NodeProcess } from '#test/support/search-node.ts'
import { CALL_TIMEOUT_MS } from '#test/support/until.ts'
import { folderOfFile } from '#test/support/folder.ts'

const { publicKeyDer } = signingKeys()
const folder = folderOfFile()

const tls = ({ ca, cert, key }: { ca: string; cert: string; key: string }) => ({
  SEARCH_TLS_CA: ca,
  SEARCH_TLS_CERT: cert,
  SEARCH_TLS_KEY: key,
})
async function threadsOf(
  node: NodeProcess,
  channel = credentials.createInsecure(),
  address = node.address,
): Promise<number> {
  const client = openSearchNodeClient(address, channel)
  try {
    return (await client.status(CALL_TIMEOUT_MS)).threads
  } finally {
    client.close()
  }
}

test('plaintext on an address other than loopback is refused, with what to set', async () => {
  const refused = spawnNode(nodeEnvironment(folder, publicKeyDer, { SEARCH_LISTEN: `0.0.0.0:${await freePort()}` }))
  expect(await refused.ended).toBe(1)
  expect(refused.output()).toMatch(
    /not a loopback address: set SEARCH_TLS_CA, SEARCH_TLS_CERT and SEARCH_TLS_KEY, or SEARCH_PLAINTEXT=allow/,
  )
})

test('plaintext on an address other than loopback works once it is allowed', async () => {
  const port = await freePort()
  const node = await startNode(
    nodeEnvironment(folder, publicKeyDer, { SEARCH_LISTEN: `0.0.0.0:${port}`, SEARCH_PLAINTEXT: 'allow' }),
  )
  expect(await threadsOf(node, credentials.createInsecure(), `127.0.0.1:${port}`)).toBe(1)
  expect(await node.stop()).toBe(0)
})

test('half a mutual TLS configuration is refused', async () => {
  const refused = spawnNode(nodeEnvironment(folder, publicKeyDer, { SEARCH_TLS_CERT: fileURLToPath(import.meta.url) }))
  expect(await refused.ended).toBe(1)
  expect(refused.output()).toMatch(/SEARCH_TLS_CA, SEARCH_TLS_CERT and SEARCH_TLS_KEY together/)
})

test(
  'every fault is told at once, without what was given: a key in the place of its path, an address, ' +
    'bytes that are no key',
  async () => {
    const pasted = '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEI'
    const notAKey = randomBytes(44).toString('base64')
    const keyless = {
      ...nodeEnvironment(folder, publicKeyDer),
      MANIFEST_PUBLIC_KEY: notAKey,
      SEARCH_TLS_KEY: pasted,
      SEARCH_LISTEN: 'nowhere',
    }
    const refused = spawnNode(keyless)
    expect(await refused.ended).toBe(1)
    for (const name of ['MANIFEST_PUBLIC_KEY', 'SEARCH_TLS_KEY', 'SEARCH_LISTEN'])
      expect(refused.output()).toContain(`${name} is not valid`)
    for (const given of [pasted, 'PRIVATE KEY-', notAKey]) expect(refused.output()).not.toContain(given)
    const exposed = spawnNode({
      ...nodeEnvironment(folder, publicKeyDer),
      MANIFEST_PUBLIC_KEY: notAKey,
      SEARCH_LISTEN: '0.0.0.0:7070',
    })
    expect(await exposed.ended).toBe(1)
    for (const fault of ['MANIFEST_PUBLIC_KEY is not valid', 'not a loopback address'])
      expect(exposed.output()).toContain(fault)
  },
)

test(
  'with mutual TLS a client of the same authority is served; one without a certificate, of another ' +
    'authority or in plaintext is not',
  async () => {
    const [ours, theirs] = [makeCertificates(folder, 'ours'), makeCertificates(folder, 'theirs')]
    const node = await startNode(nodeEnvironment(folder, publicKeyDer, tls(ours)))
    expect(await threadsOf(node, clientCredentials(node.address, { ...PLAINTEXT, ...tls(ours) }))).toBe(1)
    const refused = [
      credentials.createSsl(readFileSync(ours.ca)),
      credentials.createSsl(readFileSync(ours.ca), readFileSync(theirs.key), readFileSync(theirs.cert)),
      clientCredentials(node.address, { ...PLAINTEXT, ...tls(theirs) }),
      credentials.createInsecure(),
    ]
    for (const channel of refused)
      await expect(threadsOf(node, channel)).rejects.toMatchObject({
        code: expect.toSatisfy((code: status) => code === status.UNAVAILABLE || code === status.DEADLINE_EXCEEDED),
      })
    expect(await threadsOf(node, clientCredentials(node.address, { ...PLAINTEXT, ...tls(ours) }))).toBe(1)
    expect(await node.stop()).toBe(0)
  },
)
