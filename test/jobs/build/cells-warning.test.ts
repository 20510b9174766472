import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createLocalEmbedder } from '#core/embedding/local/embedder.ts'
import { cellsOf, manifestSchema, manifestText } from '#core/index/format/manifest.ts'
import { createArtifactStore } from '#core/index/format/store.ts'
import { writeArtifact } from '#core/index/format/writer.ts'
import { CELLS_RECALL } from '#core/index/vectors/cells.ts'
import { derivedUuid } from '#core/platform/ids.ts'
import { buildArtifact } from '#jobs/build/artifact.ts'
import type { BuildContext } from '#jobs/build/context.ts'
import { projectionIdOf, versionIdOf } from '#jobs/build/ids.ts'
import { buildParametersSchema } from '#jobs/build/parameters.ts'
import { signingKeys, testRows } from '#test/support/artifact.ts'
import { QUIET_BUILD } from '#test/support/jobs/quiet-build.ts'
import { spaceOf } from '#test/support/embedding-space.ts'
import { writeSignedManifest } from '#test/support/signed-manifest.ts'

const BUILD_ID = derivedUuid('test', 'cells warning')
const DIMENSIONS = 16
const keys = signingKeys()
const rows = testRows({ rows: 40, dimensions: DIMENSIONS, seed: 1 })

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cells-warning-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function contextOf(warnings: string[]): BuildContext {
  const store = createArtifactStore(pathToFileURL(folder).href)
  return {
    ...QUIET_BUILD,
    fence: { buildId: BUILD_ID, attempt: 2 },
    knowledgeBaseId: derivedUuid('test', 'knowledge base'),
    parameters: buildParametersSchema.parse({ embedding: 'local' }),
    source: {
      id: derivedUuid('test', 'import'),
      knowledgeBaseId: derivedUuid('test', 'knowledge base'),
      mapping: {},
      snapshots: [],
    },
    store,
    workFolder: store.workFolder(BUILD_ID),
    privateKeyDer: keys.privateKeyDer,
    publicKeysDer: [keys.publicKeyDer],
    warn: (sentence) => warnings.push(sentence),
    signal: new AbortController().signal,
  }
}

/** Writes the artifact of an earlier run of the build, whose manifest states this recall of its cells. */
async function writeEarlier({ store }: BuildContext, recall: number): Promise<void> {
  const artifactFolder = store.artifactFolder(projectionIdOf(BUILD_ID))
  const { manifest } = await writeArtifact({
    artifactFolder,
    projectionId: projectionIdOf(BUILD_ID),
    versionId: versionIdOf(BUILD_ID),
    embedding: spaceOf(DIMENSIONS),
    snapshotsDigest: '0'.repeat(64),
    passages: rows.length,
    rows,
    acts: [],
    privateKeyDer: keys.privateKeyDer,
    cellsFromBytes: 0,
  })
  const cells = { ...cellsOf(manifest), recall }
  const text = manifestText(manifestSchema.parse({ ...manifest, index: { metric: 'cos', cells } }))
  writeSignedManifest(artifactFolder, text, keys.privateKeyDer)
}

/** @returns the warnings of a run that goes on from the artifact. */
async function warningsFor(recall: number): Promise<readonly string[]> {
  const warnings: string[] = []
  const context = contextOf(warnings)
  await writeEarlier(context, recall)
  const facets = { languages: [], jurisdictions: [], subjects: [], statuses: [] }
  const corpus = { passages: rows.length, snapshotsDigest: '0'.repeat(64), facets, acts: [] }
  const counts = { passages: rows.length, sent: 0, tokens: 0, overlong: 0, seconds_left: null }
  const vectors = { folder: context.workFolder, rows: rows.length, dimensions: DIMENSIONS, counts }
  const { manifest } = await buildArtifact(context, corpus, vectors, createLocalEmbedder())
  expect(cellsOf(manifest)?.recall).toBe(recall)
  return warnings
}

test('a build warns of cells that cannot hold the wanted share, and says what that means', async () => {
  expect(await warningsFor(0.6129)).toEqual([
    'the cells of the vectors hold 61.2 % of the ten nearest passages and not 99 %, so every search scans all ' +
      'vectors that its filters allow',
  ])
})

test('a build does not warn of cells that hold the wanted share', async () => {
  expect(await warningsFor(CELLS_RECALL)).toEqual([])
})
