import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SearchResult } from '#core/domain/search.ts'
import { artifactRef, openIndex } from '#core/index/format/reader.ts'
import type { IndexReader } from '#core/index/format/reader.ts'
import { createIndexVersion } from '#search-node/search/index-version.ts'
import { search } from '#search-node/search/pipeline.ts'
import type { SearchInput } from '#search-node/search/query.ts'
import { buildTestArtifact, signingKeys } from '#test/support/artifact.ts'
import type { TestArtifactOptions } from '#test/support/artifact.ts'
import { UNLIMITED, inputOf } from './asked.ts'

/** An artifact that one thread has open. */
export interface Searchable {
  readonly mapping: IndexReader
  /** Searches as a scoring thread does; see `inputOf`. */
  ask(change: Partial<SearchInput>): Promise<SearchResult>
  /** Closes the index and removes its files. */
  close(): void
}

export async function searchable(
  corpus: Pick<TestArtifactOptions, 'rows' | 'acts' | 'queries' | 'embedding'>,
): Promise<Searchable> {
  const store = mkdtempSync(join(tmpdir(), 'search-'))
  const { folder, manifest } = await buildTestArtifact({ ...corpus, store, privateKeyDer: signingKeys().privateKeyDer })
  const mapping = openIndex(artifactRef(folder, manifest))
  const version = createIndexVersion(mapping)
  return {
    mapping,
    ask: (change) => search(version, inputOf(change), UNLIMITED),
    close() {
      mapping.close()
      rmSync(store, { recursive: true, force: true })
    },
  }
}
