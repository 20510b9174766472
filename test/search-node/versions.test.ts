import { expect, test } from 'vitest'
import type { Manifest } from '#core/index/format/manifest.ts'
import { sha256 } from '#core/platform/digest.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { NodeError } from '#search-node/node-error.ts'
import { Versions } from '#search-node/versions.ts'
import { testManifest } from '#test/support/artifact.ts'

const ID = '00000000-0000-4000-8000-000000000001'
const DIGEST = sha256('manifest')

interface Node {
  readonly versions: Versions
  readonly events: string[]
  /** Releases the verification that waits. */
  verified(error?: Error): Promise<void>
}

function node(says: (versionId: string) => Manifest = testManifest): Node {
  const events: string[] = []
  const waiting: ((error?: Error) => void)[] = []
  const versions = new Versions({
    artifactFolder: (versionId) => versionId,
    async verify(folder) {
      events.push('verify')
      const error = await new Promise<Error | undefined>((resolve) => waiting.push(resolve))
      if (error !== undefined) throw error
      return says(folder)
    },
    async openEverywhere() {
      events.push('open')
    },
    async closeEverywhere() {
      events.push('close')
    },
    onState: () => undefined,
    onDamaged: (_, reason) => events.push(reason),
  })
  return {
    versions,
    events,
    async verified(error) {
      await turn()
      waiting.shift()?.(error)
      await turn()
    },
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

async function loadedNode(): Promise<Node> {
  const made = node()
  const prepared = made.versions.prepare(ID, DIGEST)
  await made.verified()
  await prepared
  return made
}

test('a version is lent only once it is verified and open on every thread', async () => {
  const { versions, events, verified } = node()
  expect(() => versions.borrow(ID)).toThrow(/has not loaded/)
  const prepared = versions.prepare(ID, DIGEST)
  expect(() => versions.borrow(ID)).toThrow(/has not loaded/)
  expect(versions.status()).toMatchObject([{ versionId: ID, state: 'loading', leases: 0 }])
  await verified()
  expect(await prepared).toEqual({ alreadyLoaded: false, passages: 7 })
  expect(events).toEqual(['verify', 'open'])
  const lease = versions.borrow(ID)
  expect(versions.status()).toMatchObject([{ versionId: ID, manifestDigest: DIGEST, state: 'loaded', leases: 1 }])
  versions.borrow(ID, DIGEST.toString('hex')).release()
  expect(() => versions.borrow(ID, '00'.repeat(32))).toThrow(/another projection/)
  lease.release()
  lease.release()
  expect(versions.status()).toMatchObject([{ leases: 0 }])
})

test('calls to prepare one version at the same time verify and open it once', async () => {
  const { versions, events, verified } = node()
  const both = Promise.all([versions.prepare(ID, DIGEST), versions.prepare(ID, DIGEST)])
  await verified()
  expect(await both).toEqual([
    { alreadyLoaded: false, passages: 7 },
    { alreadyLoaded: false, passages: 7 },
  ])
  expect(await versions.prepare(ID, DIGEST)).toEqual({ alreadyLoaded: true, passages: 7 })
  expect(events).toEqual(['verify', 'open'])
})

test('a loaded or loading version is refused under another digest', async () => {
  const { versions, verified } = node()
  const prepared = versions.prepare(ID, DIGEST)
  await expect(versions.prepare(ID, sha256('another'))).rejects.toMatchObject({ code: 'DATA_LOSS' })
  await verified()
  await prepared
  await expect(versions.prepare(ID, sha256('another'))).rejects.toMatchObject({ code: 'DATA_LOSS' })
  expect(versions.borrow(ID).artifact.versionId).toBe(ID)
})

test('an artifact that fails verification or is of another version is never opened and can be retried', async () => {
  const { versions, events, verified } = node()
  const refused = versions.prepare(ID, DIGEST)
  refused.catch(() => undefined)
  await verified(new NodeError('DATA_LOSS', 'damaged'))
  await expect(refused).rejects.toMatchObject({ code: 'DATA_LOSS' })
  expect(versions.status()).toEqual([])
  const again = versions.prepare(ID, DIGEST)
  await verified()
  await again
  expect(events).toEqual(['verify', 'verify', 'open'])

  const other = node(() => testManifest('00000000-0000-4000-8000-000000000002'))
  const foreign = other.versions.prepare(ID, DIGEST)
  foreign.catch(() => undefined)
  await other.verified()
  await expect(foreign).rejects.toMatchObject({ code: 'DATA_LOSS' })
  expect(other.events).toEqual(['verify'])
})

test('a released version is unmapped only after its leases are back, and is not lent meanwhile', async () => {
  const { versions, events } = await loadedNode()
  const leases = [versions.borrow(ID), versions.borrow(ID)]
  const released = versions.release(ID)
  expect(() => versions.borrow(ID)).toThrow(/has not loaded/)
  expect(versions.status()).toMatchObject([{ state: 'releasing', leases: 2 }])
  leases[0]?.release()
  await turn()
  expect(events).toEqual(['verify', 'open'])
  leases[1]?.release()
  expect(await released).toBe(true)
  expect(events).toEqual(['verify', 'open', 'close'])
  expect(versions.status()).toEqual([])
  expect(await versions.release(ID)).toBe(false)
})

test('a version released while it loads is loaded, then let go', async () => {
  const { versions, events, verified } = node()
  const prepared = versions.prepare(ID, DIGEST)
  const released = versions.release(ID)
  await verified()
  expect(await prepared).toEqual({ alreadyLoaded: false, passages: 7 })
  expect(await released).toBe(true)
  expect(events).toEqual(['verify', 'open', 'close'])
  expect(versions.status()).toEqual([])
})

test('a version released while its loading fails was never loaded', async () => {
  const { versions, verified } = node()
  const prepared = versions.prepare(ID, DIGEST)
  prepared.catch(() => undefined)
  const released = versions.release(ID)
  await verified(new NodeError('DATA_LOSS', 'damaged'))
  expect(await released).toBe(false)
})

test('a version prepared while it is being released is loaded again afterwards', async () => {
  const { versions, events, verified } = await loadedNode()
  const lease = versions.borrow(ID)
  const released = versions.release(ID)
  const prepared = versions.prepare(ID, DIGEST)
  await turn()
  expect(events).toEqual(['verify', 'open'])
  lease.release()
  await released
  await verified()
  expect(await prepared).toEqual({ alreadyLoaded: false, passages: 7 })
  expect(events).toEqual(['verify', 'open', 'close', 'verify', 'open'])
  versions.borrow(ID).release()
})

test('a damaged version is unloaded once, after its searches, and is served again only once it verifies', async () => {
  const { versions, events, verified } = await loadedNode()
  const lease = versions.borrow(ID)
  const [first] = versions.loaded()
  if (first === undefined) throw new Error('no version is loaded')
  versions.unloadDamaged(first.artifact, 'altered')
  versions.unloadDamaged(first.artifact, 'altered')
  expect(() => versions.borrow(ID)).toThrow(/has not loaded/)
  expect([versions.loaded(), versions.damaged]).toEqual([[], 1])
  lease.release()
  const again = versions.prepare(ID, DIGEST)
  await verified()
  expect(await again).toEqual({ alreadyLoaded: false, passages: 7 })
  expect(events).toEqual(['verify', 'open', 'altered', 'close', 'verify', 'open'])
  versions.unloadDamaged(first.artifact, 'of the artifact before')
  expect([versions.loaded().length, versions.damaged]).toEqual([1, 1])
})

test('a loaded version is verified again where the caller asks for it, and unloaded if it fails', async () => {
  const { versions, events, verified } = await loadedNode()
  const again = versions.prepare(ID, DIGEST, { verify: true })
  await verified()
  expect(await again).toEqual({ alreadyLoaded: true, passages: 7 })
  const refused = versions.prepare(ID, DIGEST, { verify: true })
  refused.catch(() => undefined)
  await verified(new NodeError('DATA_LOSS', 'altered'))
  await expect(refused).rejects.toMatchObject({ code: 'DATA_LOSS' })
  expect(events).toEqual(['verify', 'open', 'verify', 'verify', 'altered', 'close'])
  expect(versions.status()).toEqual([])
})

test('a node holds a bounded number of versions', async () => {
  const { versions } = node()
  for (let n = 0; n < SEARCH_BOUNDS.versionsPerNodeMax; n++)
    versions.prepare(`version ${n}`, DIGEST).catch(() => undefined)
  await expect(versions.prepare('one more', DIGEST)).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED' })
})
