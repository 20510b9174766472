import { credentials } from '@grpc/grpc-js'
import { afterAll, expect } from 'vitest'
import { openSearchNodeClient, type SearchNodeClient } from '#core/rpc/search-client.ts'
import { searchable, type Searchable } from './search.ts'
import { spawnNode, startNode, type Environment, type NodeProcess } from './search-node.ts'

/** What a file or block of tests opens at its beginning, and what ends after them. */

/** An artifact that one thread has open. */
export async function openCorpus(...corpus: Parameters<typeof searchable>): Promise<Searchable> {
  const opened = await searchable(...corpus)
  afterAll(() => opened.close())
  return opened
}

/** A search node, a process of its own, with a client of it. @param undo takes what stops both; default: after the file. */
export async function openNode(
  environment: Environment,
  undo: (work: () => Promise<void>) => void = afterAll,
): Promise<{ node: NodeProcess; client: SearchNodeClient }> {
  const node = await startNode(environment)
  const client = openSearchNodeClient(node.address, credentials.createInsecure())
  undo(async () => {
    client.close()
    await node.stop()
  })
  return { node, client }
}

/** What a search node says that refuses to start. */
export async function refusalOf(environment: Environment): Promise<string> {
  const refused = spawnNode(environment)
  expect(await refused.ended).toBe(1)
  return refused.output()
}
