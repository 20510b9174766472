import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildTestArtifact } from '#test/support/artifact.ts'
import { queryNear, seededRandom, testRows } from '#test/support/passages.ts'
import { signingKeys } from '#test/support/secrets.ts'

/**
 * An artifact written today has the bytes of one written before. A change of the format or of what is written changes a
 * digest here on purpose and raises ARTIFACT_FORMAT; anything else that changes one is a fault: replicas and rebuilt
 * versions would differ.
 */
const keys = signingKeys()
let store: string

beforeAll(() => {
  store = mkdtempSync(join(tmpdir(), 'fixed-digest-'))
})
afterAll(() => rmSync(store, { recursive: true, force: true }))

const rows = testRows({
  rows: 2_000,
  dimensions: 128,
  seed: 20,
  spread: 0.4,
  traits: (n) => ({
    language: ['en', 'de', 'fr'][n % 3] ?? 'en',
    jurisdiction: n % 2 === 0 ? 'XA' : 'XB',
    subjects: n % 4 === 0 ? [] : ['general', `topic-${n % 7}`],
    status: n % 11 === 0 ? 'provisional' : 'verified',
    inForceTo: n % 5 === 0 ? '2025-01-01' : null,
    revision: String(n % 10 < 5),
    provision: `provision ${n % 900}`,
    references: n % 3 === 0 ? [`de:bgb#${n}`] : [`celex:32016R0679#${n}/1`],
    heading: `Kapitel ${n % 13} › Règle ${n}`,
  }),
})

test('the same passages and vectors give the same bytes as ever', async () => {
  const { manifestDigest } = await buildTestArtifact({
    store,
    rows,
    privateKeyDer: keys.privateKeyDer,
    acts: [{ id: 'de:bgb', aliases: ['BGB', 'Bürgerliches Gesetzbuch'] }],
  })
  expect(manifestDigest.toString('hex')).toBe('cff50cb29da23eae4c45da6f4e270ed0ec963d7d7d4ef49b3b40a9b6ceb15b90')
})

test('sample queries measure the cosines of the manifest and change no file', async () => {
  const build = (name: string, queries: readonly Float32Array[]): ReturnType<typeof buildTestArtifact> =>
    buildTestArtifact({ store, rows, privateKeyDer: keys.privateKeyDer, name, queries })
  const random = seededRandom(21)
  const queries = Array.from({ length: 10 }, (_, n) => queryNear(rows, n * 100, random))
  const first = await build('measured', queries)
  const again = await build('again', queries)
  const other = await build('other', queries.slice(1))
  expect(first.manifest.cosines).not.toEqual(other.manifest.cosines)
  expect(again.manifest.cosines).toEqual(first.manifest.cosines)
  expect(first.manifestDigest.toString('hex')).toBe('a75f74346a82fab0d82a628d3d01ca9f029fe72e03100ecedefd22e20b0e13ef')
})
