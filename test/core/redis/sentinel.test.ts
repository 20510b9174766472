import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { REDIS_BOUNDS } from '#core/redis/bounds.ts'
import { createLog } from '#core/platform/log.ts'
import { openPrimary, type PrimaryConnection } from '#core/redis/primary.ts'
import { adjustedNowMs } from '#test/support/clock.ts'
import { makeCertificates, type Certificates } from '#test/support/secrets.ts'
import {
  PRIMARY_SETTINGS,
  replicaKnown,
  startOwnRedis,
  startReplica,
  startSentinel,
  stopping,
  withRedis,
} from '#test/support/redis.ts'
import { until } from '#test/support/until.ts'

function open(url: string) {
  const lines: string[] = []
  let connectedMs = Number.NaN
  const log = createLog('test', 'info', (line) => {
    lines.push(line)
    if (line.includes('redis connected')) connectedMs = adjustedNowMs()
  })
  const connection = openPrimary(url, { name: 'test', log, whileAway: 'fail' })
  onTestFinished(() => connection.close())
  return { ...connection, lines, connectedMs: () => connectedMs }
}
const used = (connection: PrimaryConnection): Promise<string> => until('it is used', async () => connection.runId())
const processOf = (url: string): Promise<string> =>
  withRedis(url, async (client) => /run_id:(\w+)/.exec(await client.info('server'))?.[1] ?? '')

test('after a failover the new primary is in use within two seconds, with what it had got', async () => {
  const primary = stopping(await startOwnRedis(PRIMARY_SETTINGS))
  const replica = stopping(await startReplica(primary))
  const sentinel = stopping(await startSentinel(primary))
  await replicaKnown(sentinel)
  const connection = open(sentinel.urlOf(3))
  expect((await used(connection)).split('-')[0]).toBe(await processOf(primary.url))
  await connection.redis.set('key', 'kept')
  await until('the replica has it', () =>
    withRedis(replica.urlOf(3), async (client) => (await client.get('key')) === 'kept'),
  )

  const events = new Redis(sentinel.port, '127.0.0.1')
  onTestFinished(() => events.disconnect())
  await events.subscribe('+switch-master')
  const switched = new Promise<number>((resolve) => events.once('message', () => resolve(adjustedNowMs())))
  await primary.kill()
  const switchedMs = await switched
  expect((await used(connection)).split('-')[0]).toBe(await processOf(replica.url))
  expect(connection.connectedMs() - switchedMs).toBeLessThan(REDIS_BOUNDS.redisFailoverMaxMs)
  expect(await connection.redis.get('key')).toBe('kept')
})

test('a server that the Sentinels no longer name is left, although it still takes writes', async () => {
  const [first, second] = [stopping(await startOwnRedis()), stopping(await startOwnRedis())]
  const sentinel = stopping(await startSentinel(first))
  const connection = open(sentinel.urlOf(0))
  await used(connection)
  await withRedis(`redis://127.0.0.1:${sentinel.port}`, async (client) => {
    await client.call('SENTINEL', 'REMOVE', 'limits')
    await client.call('SENTINEL', 'MONITOR', 'limits', '127.0.0.1', second.port, 1)
  })
  const wanted = await processOf(second.url)
  await until('the other one is used', async () => connection.runId()?.startsWith(wanted) === true)
})

test('of Sentinels that name different primaries, the one with the newest failover is believed', async () => {
  const primary = stopping(await startOwnRedis(PRIMARY_SETTINGS))
  const replica = stopping(await startReplica(primary))
  const sentinel = stopping(await startSentinel(primary))
  await replicaKnown(sentinel)
  await primary.kill()
  await until('the Sentinel names the replica', () =>
    withRedis(`redis://127.0.0.1:${sentinel.port}`, async (client) => {
      const named = await client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'limits')
      return Array.isArray(named) && named[1] === String(replica.port)
    }),
  )
  const other = stopping(await startOwnRedis())
  const old = stopping(await startSentinel(other))
  const connection = open(`redis-sentinel://127.0.0.1:${old.port},127.0.0.1:${sentinel.port}/limits`)
  expect((await used(connection)).split('-')[0]).toBe(await processOf(replica.url))
})

test('one Sentinel that answers is enough; without one the fault is named and the start does not wait', async () => {
  const primary = stopping(await startOwnRedis())
  const sentinel = stopping(await startSentinel(primary))
  await used(open(`redis-sentinel://127.0.0.1:1,127.0.0.1:${sentinel.port},127.0.0.1:2/limits`))
  const lost = open('redis-sentinel://127.0.0.1:1,127.0.0.1:2/limits')
  await lost.firstAttempt()
  expect([lost.runId(), lost.fault()]).toEqual([undefined, 'Redis does not answer'])
  expect(lost.lines.join('')).toContain('no Sentinel knows the primary \\"limits\\"')
  const unknown = open(`redis-sentinel://127.0.0.1:${sentinel.port}/other`)
  await unknown.firstAttempt()
  expect(unknown.lines.join('')).toContain('no Sentinel knows the primary \\"other\\"')
})

test('a Sentinel that is given as if it were the server is refused, with how to write it', async () => {
  const primary = stopping(await startOwnRedis())
  const sentinel = stopping(await startSentinel(primary))
  await expect(open(`redis://127.0.0.1:${sentinel.port}`).firstAttempt()).rejects.toThrow(
    'REDIS_URL names a Sentinel as if it were the server: write redis-sentinel://host:26379/name-of-primary.',
  )
})

test('servers and Sentinels have logins of their own, and no log repeats a password', async () => {
  const primary = stopping(await startOwnRedis())
  await withRedis(primary.url, (client) => client.acl('SETUSER', 'app', 'on', '>hunter-server', '~*', '&*', '+@all'))
  const sentinel = stopping(await startSentinel(primary, 'watch:hunter-watch'))
  const urlOf = (server: string, watch: string): string =>
    sentinel.urlOf(0).replace('//', `//app:${server}@`) + `?sentinel_username=watch&sentinel_password=${watch}`
  const connection = open(urlOf('hunter-server', 'hunter-watch'))
  await used(connection)
  const wrong = [open(urlOf('hunter-wrong', 'hunter-watch')), open(urlOf('hunter-server', 'hunter-wrong'))]
  for (const one of wrong) {
    await one.firstAttempt()
    expect(one.runId()).toBeUndefined()
    expect(one.lines.join('')).toContain('WRONGPASS')
  }
  expect([connection, ...wrong].flatMap((one) => one.lines).join('')).not.toContain('hunter')
})

/** Accepts TLS on loopback and forwards to a port. */
async function startTlsProxy(
  port: number,
  { cert, key }: Certificates,
): Promise<{ port: number; stop(): Promise<void> }> {
  const sockets = new Set<tls.TLSSocket>()
  const server = tls.createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (client) => {
    const upstream = connect(port, '127.0.0.1')
    sockets.add(client)
    for (const one of [client, upstream])
      one.on('error', () => undefined).on('close', () => [client, upstream].map((end) => end.destroy()))
    client.pipe(upstream).pipe(client)
  })
  server.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

test('rediss and rediss-sentinel use TLS, and trust the certificate authorities of the process', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'evidence-redis-tls-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [trusted, foreign] = [makeCertificates(folder, 'trusted'), makeCertificates(folder, 'foreign')]
  const before = tls.getCACertificates('default')
  tls.setDefaultCACertificates([...before, readFileSync(trusted.ca, 'utf8')])
  onTestFinished(() => tls.setDefaultCACertificates(before))

  const primary = stopping(await startOwnRedis())
  const secured = stopping(await startTlsProxy(primary.port, trusted))
  await used(open(`rediss://127.0.0.1:${secured.port}/1`))
  // The Sentinel only has to name the address; it speaks no TLS to the server itself.
  const sentinel = stopping(await startSentinel({ program: primary.program, port: secured.port }))
  const securedSentinel = stopping(await startTlsProxy(sentinel.port, trusted))
  await used(open(`rediss-sentinel://127.0.0.1:${securedSentinel.port}/limits/1`))

  const untrusted = stopping(await startTlsProxy(primary.port, foreign))
  const refused = open(`rediss://127.0.0.1:${untrusted.port}`)
  await refused.firstAttempt()
  expect([refused.runId(), refused.fault()]).toEqual([
    undefined,
    'Redis does not answer (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
  ])
})
