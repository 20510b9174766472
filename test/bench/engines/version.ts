import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { openEngineClient, type EngineClient, anyReply } from '#core/engine/client.ts'
import { lookFault } from '#core/engine/index-check.ts'
import { removeIndexes, writeIndex, engineRows } from '#core/engine/index-writer.ts'
import { MANIFEST_FILE, filesOf, manifestSchema, manifestText } from '#core/index/format/manifest.ts'
import { sha256 } from '#core/platform/digest.ts'
import { derivedUuid } from '#core/platform/ids.ts'
import { createProgress } from '#operator/command-line/progress.ts'
import type { BenchArtifact } from '#test/bench/artifact.ts'
import { processCpuMs } from '#test/bench/cpu.ts'
import { engineOf, type BenchCluster } from '#test/bench/paths.ts'
import type { BuiltArtifact } from '#test/bench/run.ts'
import { writeSignedManifest } from '#test/support/artifact.ts'

const RECOVERY_TIMEOUT_MS = 120_000

const loadSchema = z.object({ seconds: z.number(), cpu_seconds: z.number() })
/** Of an index, from its first row to its write block; CPU time is the cluster's. */
type IndexLoad = z.infer<typeof loadSchema>

/**
 * The passages of a local artifact as a version with an index in the cluster, or that of an earlier run. Its files are
 * hard links to those of the local one, less those that are searched; its index is loaded as by every build.
 */
export async function indexedVersion({ artifact: local, settings }: BuiltArtifact, cluster: BenchCluster) {
  const versionId = derivedUuid('bench engine version', local.versionId)
  const folder = join(dirname(local.folder), versionId)
  const loadFile = `${folder}.load.json`
  const client = await openEngineClient(engineOf(cluster))
  try {
    if (!existsSync(loadFile) || !(await isHeld(client, folder))) {
      rmSync(folder, { recursive: true, force: true })
      const load = await written(client, cluster, { local, folder, versionId, privateKeyDer: settings.privateKeyDer })
      writeFileSync(loadFile, JSON.stringify(load))
    }
  } finally {
    await client.close()
  }
  const bytes = readFileSync(join(folder, MANIFEST_FILE))
  return {
    artifact: {
      manifest: manifestSchema.parse(JSON.parse(bytes.toString('utf8'))),
      manifestDigest: sha256(bytes),
      folder,
      versionId,
      buildId: derivedUuid('bench engine build', local.versionId),
    },
    load: loadSchema.parse(JSON.parse(readFileSync(loadFile, 'utf8'))),
  }
}

/** A cluster that has just started recovers its indexes first. */
async function isHeld(client: EngineClient, folder: string): Promise<boolean> {
  const query = { wait_for_status: 'yellow', timeout: `${RECOVERY_TIMEOUT_MS}ms` }
  const health = { method: 'GET', path: '/_cluster/health', query, timeoutMs: 2 * RECOVERY_TIMEOUT_MS } as const
  await client.request(health, anyReply)
  const { engine } = manifestSchema.parse(JSON.parse(readFileSync(join(folder, MANIFEST_FILE), 'utf8')))
  return engine !== undefined && (await lookFault(client, engine)) === undefined
}

async function written(
  client: EngineClient,
  { pid }: BenchCluster,
  {
    local,
    folder,
    versionId,
    privateKeyDer,
  }: { local: BenchArtifact; folder: string; versionId: string; privateKeyDer: Buffer },
): Promise<IndexLoad> {
  const { passages, embedding } = local.manifest
  const unsigned = { folder: local.folder, passages, dimensions: embedding?.dimensions }
  const progress = createProgress(process.stderr)
  const began = performance.now()
  const cpuBeforeMs = processCpuMs(pid)
  await removeIndexes(client, versionId)
  const engine = await writeIndex(client, {
    versionId,
    ...unsigned,
    rows: engineRows(unsigned),
    onProgress: (done, total) => progress.update('index', done, total),
  })
  const load = { seconds: (performance.now() - began) / 1_000, cpu_seconds: (processCpuMs(pid) - cpuBeforeMs) / 1_000 }
  progress.end()
  const { clusters: _clusters, files, ...others } = local.manifest
  const kept = Object.entries(files).filter(([name]) => !SEARCHED_FILES.includes(name))
  const manifest = manifestSchema.parse({ ...others, version_id: versionId, engine, files: Object.fromEntries(kept) })
  mkdirSync(folder)
  for (const { name } of filesOf(manifest)) linkSync(join(local.folder, name), join(folder, name))
  writeSignedManifest(folder, manifestText(manifest), privateKeyDer)
  return load
}

const SEARCHED_FILES = ['lexical.postings', 'vectors.sq4', 'clusters.u32', 'centroids.sq4', 'graph.usearch']
