import { artifactRef, openIndex, type IndexReader } from '#core/index/format/reader.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { readSignedManifest } from '#core/index/format/manifest.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import { createIndexVersion } from '#search-node/search/index-version.ts'
import type { SearchableVersion } from '#search-node/search/interfaces.ts'
import { search } from '#search-node/search/pipeline.ts'
import { UNLIMITED } from '#test/support/search.ts'

/** A search node without a server: the search of this process on the artifacts of a store. */
export interface InProcessNode extends SearchNodeClient {
  release(versionId: string): void
}

/** The messages between processes cost more than the searches of a small version. */
export function openInProcessNode(store: ArtifactStore, publicKeyDer: Buffer): InProcessNode {
  const loaded = new Map<string, { readonly index: IndexReader; readonly version: SearchableVersion }>()
  return {
    address: 'in process',
    async search({ versionId, ...query }) {
      const held = loaded.get(versionId)
      if (held === undefined) throw new Error(`version ${versionId} is not loaded`)
      return await search(held.version, { rowsOnly: false, onlyRows: undefined, ...query }, UNLIMITED)
    },
    async prepareVersion({ versionId, manifestDigest }) {
      const held = loaded.get(versionId)
      if (held !== undefined) return { alreadyLoaded: true, passages: held.index.passages }
      const folder = store.artifactFolder(versionId)
      const { manifest } = await readSignedManifest(folder, [publicKeyDer], manifestDigest)
      const index = openIndex(artifactRef(folder, manifest))
      loaded.set(versionId, { index, version: createIndexVersion(index) })
      return { alreadyLoaded: false, passages: manifest.passages }
    },
    async releaseVersion(versionId) {
      this.release(versionId)
      return true
    },
    release(versionId) {
      loaded.get(versionId)?.index.close()
      loaded.delete(versionId)
    },
    status: () => Promise.resolve({ loaded: [], threads: 1, queued: 0, queueMax: 1, damaged: 0 }),
    close() {
      for (const { index } of loaded.values()) index.close()
      loaded.clear()
    },
  }
}
