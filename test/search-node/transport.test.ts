import { randomBytes } from 'node:crypto'
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { credentials, status } from '@grpc/grpc-js'
import { expect, test } from 'vitest'
import { expiringCertificate } from '#core/rpc/certificates.ts'
import { openSearchNodeClient } from '#core/rpc/search-client.ts'
import { RPC_BOUNDS } from '#core/rpc/bounds.ts'
import { clientCredentials } from '#core/rpc/transport.ts'
import { makeCertificates, signingKeys, type Certificates } from '#test/support/secrets.ts'
import { freePort } from '#operator/demo/local/supervised-process.ts'
import { refusalOf } from '#test/support/fixtures.ts'
import { PLAINTEXT, nodeEnvironment, startNode, type NodeProcess } from '#test/support/search-node.ts'
import { CALL_TIMEOUT_MS, expectEventually } from '#test/support/until.ts'
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
  using ending = new DisposableStack()
  const client = ending.adopt(openSearchNodeClient(address, channel), (it) => it.close())
  return (await client.status(CALL_TIMEOUT_MS)).threads
}

test('plaintext on an address other than loopback is refused, with what to set', async () => {
  const listen = { SEARCH_LISTEN: `0.0.0.0:${await freePort()}` }
  expect(await refusalOf(nodeEnvironment(folder, publicKeyDer, listen))).toMatch(
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
  const half = nodeEnvironment(folder, publicKeyDer, { SEARCH_TLS_CERT: fileURLToPath(import.meta.url) })
  expect(await refusalOf(half)).toMatch(/SEARCH_TLS_CA, SEARCH_TLS_CERT and SEARCH_TLS_KEY together/)
})

test(
  'every fault is told at once, without what was given: a key in the place of its path, an address, ' +
    'bytes that are no key',
  async () => {
    const pasted = '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEI'
    const notAKey = randomBytes(44).toString('base64')
    const faulty = {
      MANIFEST_PUBLIC_KEY: notAKey,
      SEARCH_TLS_KEY: pasted,
      SEARCH_LISTEN: 'nowhere',
      SEARCH_THREADS: 'many',
    }
    const told = await refusalOf(faulty)
    for (const name of Object.keys(faulty)) expect(told).toContain(`${name} is not valid`)
    expect(told).toContain('ARTIFACT_STORE is missing')
    for (const given of [pasted, 'PRIVATE KEY-', notAKey, 'nowhere', 'many']) expect(told).not.toContain(given)
    const exposed = { MANIFEST_PUBLIC_KEY: notAKey, SEARCH_LISTEN: '0.0.0.0:7070' }
    const refused = await refusalOf(nodeEnvironment(folder, publicKeyDer, exposed))
    for (const fault of ['MANIFEST_PUBLIC_KEY is not valid', 'not a loopback address']) expect(refused).toContain(fault)
  },
)

test(
  'with mutual TLS a client of the same authority is served; one without a certificate, of another ' +
    'authority or in plaintext is not',
  async () => {
    const [ours, theirs] = [makeCertificates(folder, 'ours'), makeCertificates(folder, 'theirs')]
    const node = await startNode(nodeEnvironment(folder, publicKeyDer, tls(ours)))
    expect(await threadsOf(node, clientCredentials(node.address, { ...PLAINTEXT, ...tls(ours) }))).toBe(1)
    const named = (name: string): Promise<number> => {
      const address = `${name}/${node.address}`
      return threadsOf(node, clientCredentials(address, { ...PLAINTEXT, ...tls(ours) }), address)
    }
    expect(await named('nodes.example')).toBe(1)
    await expect(named('other.example')).rejects.toMatchObject({ details: expect.stringContaining('other.example') })
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

test('a node and its client take new certificates without a restart, and keep theirs while the files do not fit', async () => {
  const [first, second] = [makeCertificates(folder, 'first'), makeCertificates(folder, 'second')]
  const used = { ca: join(folder, 'used-ca.pem'), cert: join(folder, 'used.pem'), key: join(folder, 'used.key') }
  const take = ({ ca, cert, key }: Certificates): void => {
    copyFileSync(ca, used.ca)
    copyFileSync(cert, used.cert)
    copyFileSync(key, used.key)
  }
  take(first)
  const node = await startNode(nodeEnvironment(folder, publicKeyDer, tls(used)))
  const channel = clientCredentials(node.address, { ...PLAINTEXT, ...tls(used) })
  expect(await threadsOf(node, channel)).toBe(1)
  copyFileSync(second.key, used.key)
  const as = (of: Certificates) => () =>
    threadsOf(node, clientCredentials(node.address, { ...PLAINTEXT, ...tls(of) })).catch(() => 'refused')
  await sleep(2 * RPC_BOUNDS.certificateReadEveryMs)
  expect(await as(first)()).toBe(1)
  take(second)
  await expectEventually(as(second), 1)
  expect(await as(first)()).toBe('refused')
  await expectEventually(() => threadsOf(node, channel), 1)
  expect(await node.stop()).toBe(0)
})

test('a certificate that expires within two weeks, or cannot be read, is a line of status; a longer one is none', () => {
  const [short, long] = [makeCertificates(folder, 'short'), makeCertificates(folder, 'long', 30)]
  expect(expiringCertificate(short.cert)).toMatchObject({ certificate: { reason: 'expires in 1 days' } })
  expect(expiringCertificate(join(folder, 'gone'))).toMatchObject({ certificate: { reason: 'expires in 0 days' } })
  expect([expiringCertificate(long.cert), expiringCertificate(undefined)]).toEqual([{}, {}])
})
