import { expect, test } from 'vitest'
import { buildTestArtifact, spaceOf } from '#test/support/artifact.ts'
import { queryNear, seededRandom, testRows } from '#test/support/passages.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { folderOfFile } from '#test/support/folder.ts'

/**
 * An artifact written today has the bytes of one written before. A change of the format or of what is written changes a
 * digest here on purpose and raises ARTIFACT_FORMAT; anything else that changes one is a fault: replicas and rebuilt
 * versions would differ.
 */
const keys = signingKeys()
const store = folderOfFile()

/** The provider of an earlier release keeps its name in the manifest. */
const embedding = spaceOf(128, { provider: 'local' })
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
    embedding,
    privateKeyDer: keys.privateKeyDer,
    acts: [{ id: 'de:bgb', aliases: ['BGB', 'Bürgerliches Gesetzbuch'] }],
  })
  expect(manifestDigest.toString('hex')).toBe('66ca1af7d10e0cb1f639d7c85ebd7104e8b8dd5b909a9ffd64d1e227492e0655')
})

test('sample queries measure the cosines of the manifest and change no file', async () => {
  const build = (name: string, queries: readonly Float32Array[]): ReturnType<typeof buildTestArtifact> =>
    buildTestArtifact({ store, rows, embedding, privateKeyDer: keys.privateKeyDer, name, queries })
  const random = seededRandom(21)
  const queries = Array.from({ length: 10 }, (_, n) => queryNear(rows, n * 100, random))
  const first = await build('measured', queries)
  const again = await build('again', queries)
  const other = await build('other', queries.slice(1))
  expect(first.manifest.cosines).not.toEqual(other.manifest.cosines)
  expect(again.manifest.cosines).toEqual(first.manifest.cosines)
  expect(first.manifestDigest.toString('hex')).toBe('3e7e232dbac7055483bbbc29b53dcbafa250e042e7c77497e46ecb60b2a6a9d2')
})
