import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createSignedStore } from '#core/index/format/store.ts'
import { createLog } from '#core/platform/log.ts'
import { writeTrace } from '#jobs/trace/pipeline.ts'
import { buildTestArtifact, type TestArtifact } from '#test/support/artifact.ts'
import { testRows } from '#test/support/passages.ts'
import { openTestPools } from '#test/support/postgres.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { activateSigned } from '#test/support/version-chain.ts'
import { createHistoryBase, insertVersion } from '#test/support/version-rows.ts'
import { folderOfFile } from '#test/support/folder.ts'

/**
 * Two built versions of a traced knowledge base, of which none has been active.
 * @param passages of the second version; the first has one less.
 */
export async function createTracedVersions(passages: number) {
  const { owner, jobs } = await openTestPools()
  const keys = signingKeys()
  const root = folderOfFile()
  const store = join(root, 'store')
  const base = await createHistoryBase(owner)
  await owner.query('update knowledge_bases set traced = true where id = $1', [base.id])
  const rows = testRows({ rows: passages, dimensions: 8, seed: 2 })
  const built = async (kept: number): Promise<TestArtifact> => {
    const { privateKeyDer } = keys
    const artifact = await buildTestArtifact({ store, rows: rows.slice(0, kept), privateKeyDer, name: randomUUID() })
    await insertVersion(owner, { slug: base.slug, state: 'retired', passages: kept, artifact })
    return artifact
  }
  const deps = {
    database: jobs,
    store: createSignedStore({ ARTIFACT_STORE: pathToFileURL(store).href, MANIFEST_PUBLIC_KEY: [keys.publicKeyDer] }),
    log: createLog('test', 'silent'),
  }
  return {
    /** A temporary folder. */
    root,
    owner,
    publicKeyDer: keys.publicKeyDer,
    base,
    versions: [await built(passages - 1), await built(passages)] as const,
    activate: ({ versionId }: TestArtifact) => activateSigned({ owner, jobs, base, keys }, versionId),
    write: (traceDir: string) => writeTrace({ ...deps, traceDir }, base.id),
  }
}
