import { expect, test } from 'vitest'
import { openObjectStore } from '#core/object-store/s3.ts'
import { sha256 } from '#core/platform/digest.ts'
import { folderOfTest } from '#test/support/folder.ts'
import { LIMITS, startObjectHarness, written } from './harness.ts'

const harness = await startObjectHarness()

const open = (url = harness.newUrl()) => openObjectStore(url, LIMITS)

function file(bytes: Buffer) {
  const path = written(`${folderOfTest()}/file`, bytes)
  return { path, bytes: bytes.length, sha256: sha256(bytes).toString('hex') }
}

test.each([10, 11_000_000])('a file of %i bytes is sent once, and another one under its name is not', async (bytes) => {
  const store = await open()
  const [first, second] = [file(Buffer.alloc(bytes, 'a')), file(Buffer.alloc(bytes, 'b'))]
  expect(await store.send('key', first, true)).toBe(true)
  expect(await store.send('key', first, true)).toBe(true)
  expect(await store.send('key', second, true)).toBe(false)
  expect(await store.facts('key')).toEqual({ bytes, sha256: first.sha256 })
  expect(await store.send('key', second, false)).toBe(true)
  expect(await store.facts('key')).toEqual({ bytes, sha256: second.sha256 })
})

test.each([
  [10, /^PUT/],
  [11_000_000, /^POST .*uploadId=/],
])('a file of %i bytes whose reply is lost, or which meets a conflict, was sent', async (bytes, call) => {
  for (const fault of ['lost', { status: 409, code: 'ConditionalRequestConflict' }] as const) {
    const store = await open()
    const sent = file(Buffer.alloc(bytes, 'a'))
    harness.faults.fail(call, fault, 1)
    expect(await store.send('key', sent, true)).toBe(true)
    expect(harness.faults.pass()).toBe(0)
    expect(await store.facts('key')).toEqual({ bytes, sha256: sent.sha256 })
  }
})

test('a server that refuses a second write passes the probe, and one that ignores a condition does not', async () => {
  const store = await open()
  await store.probe()
  for (const [header, earlier] of [
    ['If-None-Match', 1],
    ['If-Match', 2],
  ] as const) {
    harness.faults.fail(/^PUT .*probe/, { status: 200, code: '' }, 1, earlier)
    await expect(store.probe()).rejects.toThrow(
      `The object store ignores ${header}, so a writer would replace what another wrote: use one that honours it.`,
    )
  }
})

test('each fault of the store is one sentence', async () => {
  const { faults, server, use } = harness
  const said = async (url?: string) =>
    await (await open(url)).read('key').then(
      () => 'no fault',
      (error: unknown) => (error instanceof Error ? error.message : ''),
    )
  expect(await said('s3://nowhere/')).toBe(
    'The object store has no bucket nowhere: create it, or correct ARTIFACT_STORE.',
  )
  use({ ...server.environment, AWS_SECRET_ACCESS_KEY: 'another' })
  expect(await said()).toMatch(/^The object store refuses the credentials \(SignatureDoesNotMatch\): correct AWS_/)
  use({ ...server.environment, AWS_ACCESS_KEY_ID: 'unknown' })
  expect(await said()).toMatch(/^The object store refuses the credentials \(InvalidAccessKeyId\): correct AWS_/)
  use(server.environment)
  faults.fail(/^GET/, { status: 400, code: 'ExpiredToken' }, 1)
  expect(await said()).toMatch(/^The object store refuses the credentials \(ExpiredToken\): correct AWS_/)
  faults.fail(/^GET/, { status: 503, code: 'SlowDown' }, 99)
  expect(await said()).toBe('The object store failed on key (503 SlowDown): read its log, then try again.')
  expect(faults.calls().filter((call) => call.startsWith('GET')).length).toBe(LIMITS.callsMax + 4)
  faults.fail(/^GET/, 'silent', 99)
  expect(await said()).toMatch(/^The object store does not answer for key \(.+\): check that it runs and that AWS_/)
})

test('credentials that may only read fetch, and say that they may not write', async () => {
  const url = harness.newUrl()
  await (await open(url)).replace('key', Buffer.from('law'), undefined)
  harness.use(harness.server.reader)
  const reader = await open(url)
  expect((await reader.read('key'))?.bytes.toString()).toBe('law')
  await expect(reader.probe()).rejects.toThrow(/^The object store refuses access to probe\/.* in the bucket evidence/)
})
