import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createLog } from '#core/platform/log.ts'
import { openPrimary, type PrimaryConnection, type PrimaryOptions } from '#core/redis/primary.ts'
import { startFaultProxy } from '#test/support/proxy.ts'
import {
  PRIMARY_SETTINGS,
  startClusterNode,
  startOwnRedis,
  startReplica,
  stopping,
  withRedis,
} from '#test/support/redis.ts'
import { until } from '#test/support/until.ts'

function open(url: string, whileAway: PrimaryOptions['whileAway'] = 'fail') {
  const lines: string[] = []
  const log = createLog('test', 'info', (line) => lines.push(line))
  const connection = openPrimary(url, { name: 'test', log, whileAway })
  onTestFinished(() => connection.close())
  return { ...connection, lines }
}
const used = (connection: PrimaryConnection): Promise<string> => until('it is used', async () => connection.runId())
const left = (connection: PrimaryConnection): Promise<string> => until('it is left', async () => connection.fault())
const REPLICA = 'The server that REDIS_URL leads to is a replica, not the primary.'

test('a server that was demoted is left, and has another identity once it is the primary again', async () => {
  const primary = stopping(await startOwnRedis(PRIMARY_SETTINGS))
  const replica = stopping(await startReplica(primary))
  const connection = open(primary.url)
  const before = await used(connection)
  await withRedis(primary.url, (client) => client.replicaof('127.0.0.1', replica.port))
  await left(connection)
  expect(connection.runId()).toBeUndefined()
  await until('its role is known', async () => connection.fault() === REPLICA)
  await withRedis(primary.url, (client) => client.replicaof('NO', 'ONE'))
  const after = await used(connection)
  expect(after).not.toBe(before)
  expect(after.split('-')[0]).toBe(before.split('-')[0])
})

test('the first READONLY reply ends the use of the server', async () => {
  const primary = stopping(await startOwnRedis(PRIMARY_SETTINGS))
  const connection = open(primary.url)
  await used(connection)
  await withRedis(primary.url, (client) => client.replicaof('127.0.0.1', 1))
  await expect(connection.redis.set('key', 'value')).rejects.toThrow()
  expect(connection.runId()).toBeUndefined()
  expect(connection.fault()).toBe(REPLICA)
})

test('a replica that REDIS_URL names is never used, until it is the primary', async () => {
  const primary = stopping(await startOwnRedis(PRIMARY_SETTINGS))
  const replica = stopping(await startReplica(primary))
  const connection = open(replica.url)
  await connection.firstAttempt()
  expect([connection.runId(), connection.fault(), connection.wasUsable()]).toEqual([undefined, REPLICA, false])
  await expect(connection.redis.get('key')).rejects.toThrow()
  const command = open(replica.url, 'end')
  await expect(command.usable()).rejects.toThrow(REPLICA)
  await withRedis(replica.url, (client) => client.replicaof('NO', 'ONE'))
  await used(connection)
  expect([connection.fault(), connection.wasUsable()]).toEqual([undefined, true])
})

test('a server that falls silent is left; commands fail, or wait and are sent once it answers', async () => {
  const primary = stopping(await startOwnRedis())
  const proxy = stopping(await startFaultProxy(primary.url))
  const [failing, waiting] = [open(proxy.url), open(proxy.url, 'wait')]
  await Promise.all([used(failing), used(waiting)])
  proxy.set('stall')
  const late = waiting.redis.set('key', 'late')
  await expect(failing.redis.ping()).rejects.toThrow()
  await Promise.all([left(failing), left(waiting)])
  proxy.set('pass')
  expect(await late).toBe('OK')
  await Promise.all([used(failing), used(waiting)])
})

test('a peer that closes every connection without a word delays no start, and is named as the fault', async () => {
  const peer = createServer((socket) => socket.on('error', () => undefined).end())
  await new Promise<void>((resolve) => peer.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void peer.close())
  const address = peer.address()
  const connection = open(`redis://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`)
  await connection.firstAttempt()
  expect([connection.runId(), connection.fault()]).toEqual([undefined, 'the connection to Redis was closed'])
  expect(connection.lines.join('')).toContain('the connection was closed')
})

test('a server that loads its data again is left, and used with its new data', async () => {
  const primary = stopping(await startOwnRedis())
  const connection = open(primary.url)
  const before = await used(connection)
  await primary.kill()
  await left(connection)
  await primary.restart()
  expect(await used(connection)).not.toBe(before)
})

test('a server that may evict keys from now on is left, until it may not any more', async () => {
  const server = stopping(await startOwnRedis())
  const connection = open(server.url)
  await used(connection)
  const policy = (name: string): Promise<unknown> =>
    withRedis(server.url, (client) => client.config('SET', 'maxmemory-policy', name))
  await policy('allkeys-lru')
  expect(await left(connection)).toBe(
    'Redis may evict keys (maxmemory-policy is allkeys-lru): set "maxmemory-policy noeviction".',
  )
  await policy('noeviction')
  await used(connection)
})

test('a blocking duplicate, as BullMQ uses it, leaves a demoted server too', async () => {
  const primary = stopping(await startOwnRedis(PRIMARY_SETTINGS))
  const connection = open(primary.url, 'wait')
  await used(connection)
  const duplicate = connection.redis.duplicate({ maxRetriesPerRequest: null })
  duplicate.on('error', () => undefined)
  onTestFinished(() => duplicate.disconnect())
  const popped = duplicate.blpop('list', 0)
  popped.catch(() => undefined)
  await until('it blocks', async () => duplicate.status === 'ready')
  await withRedis(primary.url, (client) => client.replicaof('127.0.0.1', 1))
  await until('it is left', async () => duplicate.status !== 'ready')
  await left(connection)
  expect(duplicate.status).not.toBe('ready')
  await withRedis(primary.url, (client) => client.replicaof('NO', 'ONE'))
  await until('it is ready again', async () => duplicate.status === 'ready')
})

test('a Redis Cluster is refused in one sentence, whichever database is asked for', async () => {
  const server = stopping(await startClusterNode())
  for (const url of [server.url, server.urlOf(3)]) {
    const [kept, command] = [open(url), open(url, 'end')]
    const sentence = /^Redis Cluster is not supported: set REDIS_URL to .+\.$/
    await expect(kept.firstAttempt()).rejects.toThrow(sentence)
    await expect(kept.usable()).rejects.toThrow(sentence)
    await expect(command.usable()).rejects.toThrow(sentence)
    expect(kept.runId()).toBeUndefined()
  }
})

test('a server that may not be asked for its role is refused, and no password is logged', async () => {
  const server = stopping(await startOwnRedis())
  await withRedis(server.url, (client) => client.acl('SETUSER', 'app', 'on', '>hunter2', '~*', '+@all', '-info'))
  const connection = open(server.url.replace('//', '//app:hunter2@'))
  await expect(connection.firstAttempt()).rejects.toThrow(
    'Redis does not tell its role: allow the command INFO to the user of REDIS_URL.',
  )
  const wrong = open(server.url.replace('//', '//app:hunter3@'))
  await wrong.firstAttempt()
  expect(wrong.fault()).toBe('Redis does not answer')
  expect(wrong.lines.join('')).toContain('WRONGPASS')
  expect([...connection.lines, ...wrong.lines].join('')).not.toContain('hunter')
})

test('a fault is logged once, however often the connection is tried', async () => {
  const server = stopping(await startOwnRedis())
  const proxy = stopping(await startFaultProxy(server.url))
  const connection = open(proxy.url)
  await used(connection)
  await server.kill()
  let attempts = 0
  connection.redis.on('connecting', () => (attempts += 1))
  await until('it was tried again and again', async () => attempts > 5)
  expect(connection.lines.filter((line) => line.includes('"level":"warn"')).length).toBeLessThanOrEqual(2)
  await server.restart()
  await used(connection)
  expect(connection.lines.filter((line) => line.includes('redis connected')).length).toBe(2)
})
