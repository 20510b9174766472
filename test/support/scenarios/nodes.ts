import { credentials } from '@grpc/grpc-js'
import { openSearchNodeClient } from '#core/rpc/search-client.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'

/** Short, because a node that a test has stopped never answers. */
const STATUS_TIMEOUT_MS = 5_000

export async function withSearchNode<T>(address: string, work: (client: SearchNodeClient) => Promise<T>): Promise<T> {
  const client = openSearchNodeClient(address, credentials.createInsecure())
  try {
    return await work(client)
  } finally {
    client.close()
  }
}

/** Versions that a search node can search; none while it does not answer. */
export async function loadedOn(address: string): Promise<readonly string[]> {
  const status = await withSearchNode(address, (client) => client.status(STATUS_TIMEOUT_MS).catch(() => undefined))
  return (status?.loaded ?? []).filter(({ state }) => state === 'loaded').map(({ versionId }) => versionId)
}
