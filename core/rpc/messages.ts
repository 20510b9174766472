import { fileURLToPath } from 'node:url'
import { loadPackageDefinition, type ServiceClientConstructor, type ServiceDefinition } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import type { Filters, Ranking, Withdrawn } from '#core/domain/search.ts'

/**
 * The messages of `proto/search/v1/search.proto` as proto-loader returns them, with field names in camel case. Only
 * `search-client.ts` here, and `server.ts` and `wire.ts` of the search node, use them.
 */
export type RankingMessage = Omit<Ranking, 'rowsScoredMin'> & { readonly expansion: number }
export interface SearchRequest {
  readonly versionId: string
  readonly queryVector: Buffer
  readonly queryText: string
  readonly rewritten: readonly string[]
  readonly limit: number
  readonly filters: Filters
  /** Absent: the same as `filters`. */
  readonly entitled?: Filters
  readonly ranking: RankingMessage
  readonly rowsOnly: boolean
  readonly onlyRows: Buffer
  readonly withdrawn: readonly Withdrawn[]
  readonly projection: Buffer
}
export interface ReleaseVersionReply {
  readonly wasLoaded: boolean
}

const protoFile = fileURLToPath(new URL('../../proto/search/v1/search.proto', import.meta.url))

function constructor(): ServiceClientConstructor {
  const definition = loadSync(protoFile, { longs: Number, enums: String, defaults: true, arrays: true, objects: true })
  let node: unknown = loadPackageDefinition(definition)
  for (const part of ['evidence', 'search', 'v1', 'SearchNode']) node = (node as Record<string, unknown>)[part]
  return node as ServiceClientConstructor
}

export const SearchNodeConstructor = constructor()
export const searchNodeService: ServiceDefinition = SearchNodeConstructor.service
