import type { ArtifactStore } from '#core/index/format/store.ts'
import type { BuildFence } from '#core/db/builds.ts'
import type { ImportRow } from '#core/db/imports.ts'
import type { Database } from '#core/db/pool.ts'
import type { EngineSettings } from '#core/engine/settings.ts'
import type { EndpointSettings } from '#core/embedding/providers.ts'
import type { Log } from '#core/platform/log.ts'
import type { RewriterSettings } from '#core/rewriting/rewriter.ts'
import type { ReaderSettings } from '#core/reading/reader.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import type { BuildParameters } from './parameters.ts'
import type { Progress } from './progress.ts'
import type { VectorSettings } from './text-vectors.ts'

/** Input of the stages up to the verified artifact. */
export interface BuildContext {
  readonly fence: BuildFence
  readonly knowledgeBaseId: string
  /** Slug. */
  readonly knowledgeBase: string
  /** Day, YYYY-MM-DD, whose law the version serves; undefined: that of each request. */
  readonly asOf?: string | undefined
  readonly parameters: BuildParameters
  readonly source: ImportRow
  readonly store: ArtifactStore
  /** Stage outputs from which a later run of the same build resumes. */
  readonly workFolder: string
  readonly privateKeyDer: Buffer
  /** The keys that are trusted; the private key belongs to one of them. */
  readonly publicKeysDer: readonly Buffer[]
  readonly vectors: VectorSettings
  /** The cluster of a build for the engine `opensearch`; other builds need none. */
  readonly engine?: EngineSettings
  /** The endpoint of the model that writes search questions; a build that asks for none needs no settings. */
  readonly chat?: EndpointSettings
  readonly progress: Progress
  /** Tells the operator of something that does not end the build. */
  readonly warn: (sentence: string, cause?: unknown) => void
  /** Aborted once another run has taken the build over. */
  readonly signal: AbortSignal
}

/** Additional input of the stages that publish the candidate. */
export interface CandidateContext extends BuildContext {
  readonly database: Database
  readonly embedding: EndpointSettings & ReaderSettings & RewriterSettings
  /** Those of SEARCH_NODES, which change. */
  readonly nodes: readonly SearchNodeClient[]
  readonly log: Log
}
