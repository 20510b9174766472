import type { ArtifactStore } from '#core/index/format/store.ts'
import { derivedUuid } from '#core/platform/ids.ts'
import type { BuildContext } from '#jobs/version-build/context.ts'
import { buildParametersSchema } from '#jobs/version-build/parameters.ts'
import { VECTORS_OF_ONE_BUILD } from '#jobs/version-build/text-vectors.ts'
import type { Mapping } from '#law/import/mapping/mapping.ts'
import { snapshotsOf } from '#law/sources/capture.ts'
import { signingKeys } from '#test/support/secrets.ts'

type Captured = Parameters<typeof snapshotsOf>[1]

/** What a build tells, and where it keeps vectors, for a test that needs neither. */
export const QUIET_BUILD: Pick<BuildContext, 'progress' | 'vectors' | 'warn'> = {
  progress: { begin: () => Promise.resolve(), at: () => undefined, embedded: () => Promise.resolve() },
  vectors: VECTORS_OF_ONE_BUILD,
  warn: () => undefined,
}

/** A build of captured files of the knowledge base "rules", with ids that a name tells. */
export async function buildContextOf(
  name: string,
  store: ArtifactStore,
  source: { readonly captured: Captured; readonly mapping: Mapping },
  parameters: object,
): Promise<BuildContext> {
  const { privateKeyDer, publicKeyDer } = signingKeys()
  const knowledgeBaseId = derivedUuid('knowledge base', name)
  const buildId = derivedUuid('build', name)
  const snapshots = snapshotsOf(knowledgeBaseId, source.captured)
  return {
    fence: { buildId, attempt: 1 },
    knowledgeBaseId,
    knowledgeBase: 'rules',
    parameters: buildParametersSchema.parse(parameters),
    source: { id: derivedUuid('import', name), knowledgeBaseId, mapping: source.mapping, snapshots },
    store,
    workFolder: store.workFolder(buildId),
    privateKeyDer,
    publicKeysDer: [publicKeyDer],
    ...QUIET_BUILD,
    signal: new AbortController().signal,
  }
}
