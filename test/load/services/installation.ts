import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { builtInCorpus } from '#operator/demo/corpus.ts'
import { publish } from '#operator/demo/publish.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { startJobs, startSearchNode, storeOf } from '#operator/demo/local/stack.ts'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import { startTestProvider } from '#test/support/embedding-endpoint.ts'
import { startOwnServers } from '#test/support/own-servers.ts'
import { testSecrets } from '#test/support/secrets.ts'

const UNHEARD = { update: () => undefined, end: () => undefined }

export type Installation = Omit<Awaited<ReturnType<typeof install>>, 'operatorUrl'>

/** Everything but the gateways: Postgres, Redis, search nodes, a job worker, a provider and an active version. */
export async function install(parent: string, searchNodes: number, steps: Steps) {
  mkdirSync(resolve(parent), { recursive: true })
  const folder = mkdtempSync(join(resolve(parent), 'run-'))
  steps.onStop(async () => rmSync(folder, { recursive: true, force: true }))
  const provider = await steps.run('embedding provider', () => startTestProvider())
  steps.onStop(() => provider.stop())
  const { environment } = provider
  const servers = await startOwnServers({ name: 'load', folder, secrets: testSecrets(), environment }, steps)
  const { settings } = servers
  const addresses: string[] = []
  for (let n = 0; n < searchNodes; n++) {
    const node = await steps.run(`search node ${n + 1}`, () => startSearchNode(settings, `search-node-${n}`))
    steps.watch(node)
    addresses.push(node.address)
  }
  steps.watch(await steps.run('job worker', () => startJobs(settings, addresses)))
  // The demo's rulebook, imported, built, approved and activated as an operator does.
  const corpus = builtInCorpus()
  await steps.run('corpus', async () => {
    await createKnowledgeBase(servers.operator, corpus)
    const deps = {
      operator: servers.operator,
      store: storeOf(settings),
      redisUrl: settings.redisUrl,
      reviewerKeyFile: join(folder, 'reviewer.pem'),
    }
    const publication = {
      ...corpus,
      knowledgeBase: corpus.slug,
      embedding: 'openai',
      endpoint: { model: 'load' },
    } as const
    await publish(deps, publication, UNHEARD)
  })
  return { ...servers, searchNodes: addresses, provider, knowledgeBase: corpus.slug }
}
