import { randomUUID } from 'node:crypto'
import { afterAll } from 'vitest'
import { insertActivation, readActivation, type ActivationRow } from '#core/db/activations.ts'
import type { Database } from '#core/db/pool.ts'
import { activate, type ActivateDeps } from '#jobs/activate/pipeline.ts'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import { saying, silent, smallSource, openJobsHarness } from './jobs.ts'
import { PLAINTEXT, openSearchNodeClients } from './search-node.ts'
import { insertSignedReview, makeComparable } from './reviews.ts'

export type ActivationHarness = Awaited<ReturnType<typeof startActivationHarness>>

/** A knowledge base with three candidate versions and no active one. */
export async function startActivationHarness() {
  const harness = await openJobsHarness()
  // Nothing listens at the second address: a node that is down.
  const nodes = openSearchNodeClients([harness.searchNode, '127.0.0.1:9'], PLAINTEXT)
  afterAll(() => {
    for (const node of nodes) node.close()
  })
  const knowledgeBaseId = await harness.createKnowledgeBase()
  const importId = await harness.importFolder(knowledgeBaseId, smallSource)
  const build = (): Promise<string> => harness.candidate(knowledgeBaseId, importId)
  return {
    harness,
    /** The first answers, the second does not. */
    nodes,
    knowledgeBaseId,
    /** Ids of the builds that made the versions. */
    builds: await Promise.all([build(), build(), build()]),
  }
}

export async function review(
  { harness }: ActivationHarness,
  buildId: string,
  verdict: 'approved' | 'rejected' = 'approved',
): Promise<void> {
  await makeComparable(harness.owner, versionIdOf(buildId), { store: harness.store })
  await insertSignedReview(harness.owner, versionIdOf(buildId), { verdict })
}

/** Inserts an activation that nothing has run yet. @returns its id. */
export async function requestActivation(
  owner: Database,
  asked: { readonly knowledgeBaseId: string; readonly versionId: string; readonly expectedVersionId: string | null },
  kind: ActivationRow['kind'] = 'activate',
): Promise<string> {
  const id = randomUUID()
  await insertActivation(owner, { ...asked, id, kind, actor: 'first-operator' })
  return id
}

/** As `requestActivation`, of the versions of builds. */
export async function request(
  { harness, knowledgeBaseId }: ActivationHarness,
  buildId: string,
  expectedBuildId: string | null,
  kind?: ActivationRow['kind'],
): Promise<string> {
  const expectedVersionId = expectedBuildId === null ? null : versionIdOf(expectedBuildId)
  return requestActivation(harness.owner, { knowledgeBaseId, versionId: versionIdOf(buildId), expectedVersionId }, kind)
}

/** Matches the row of an activation that was refused with these words. */
export function refusal(words: string | RegExp): object {
  return { state: 'refused', message: saying(words) }
}

/** What the job worker passes to an activation. */
export function activateDeps({ harness, nodes }: Pick<ActivationHarness, 'harness' | 'nodes'>): ActivateDeps {
  const { store, privateKeyDer } = harness
  return { database: harness.service, nodes, store, traceDir: store.traceFolder, privateKeyDer, log: silent }
}

/** Inserts an activation and runs it. @returns its row afterwards. */
export async function run(
  harness: ActivationHarness,
  buildId: string,
  expectedBuildId: string | null,
  kind?: ActivationRow['kind'],
): Promise<ActivationRow | undefined> {
  const id = await request(harness, buildId, expectedBuildId, kind)
  await activate(activateDeps(harness), id)
  return readActivation(harness.harness.owner, id)
}
