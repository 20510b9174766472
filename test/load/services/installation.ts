import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { builtInCorpus } from '#operator/demo/corpus.ts'
import { publish } from '#operator/demo/publish.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { startJobs, startSearchNode, storeOf } from '#operator/demo/local/stack.ts'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import { startOwnServers } from '#test/support/own-servers.ts'
import type { OwnServers } from '#test/support/own-servers.ts'
import { testSecrets } from '#test/support/secrets.ts'
import { startProvider } from './provider.ts'
import type { Provider } from './provider.ts'

const UNHEARD = { update: () => undefined, end: () => undefined }

/** Everything but the gateways: Postgres, Redis, search nodes, a job worker, a provider and an active version. */
export interface Installation extends Omit<OwnServers, 'operatorUrl'> {
  /** Addresses. */
  readonly searchNodes: readonly string[]
  readonly provider: Provider
  readonly knowledgeBase: string
}

export async function install(parent: string, searchNodes: number, steps: Steps): Promise<Installation> {
  mkdirSync(resolve(parent), { recursive: true })
  const folder = mkdtempSync(join(resolve(parent), 'run-'))
  steps.onStop(async () => rmSync(folder, { recursive: true, force: true }))
  const provider = await steps.run('embedding provider', () => startProvider())
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
  const knowledgeBase = builtInCorpus().slug
  const installation = { ...servers, searchNodes: addresses, provider, knowledgeBase }
  await steps.run('corpus', () => publishCorpus(installation))
  return installation
}

/** The demo's rulebook, imported, built, approved and activated as an operator does. */
async function publishCorpus({ operator, settings, knowledgeBase }: Installation): Promise<void> {
  const corpus = builtInCorpus()
  await createKnowledgeBase(operator, { slug: knowledgeBase, title: corpus.title })
  const reviewerKeyFile = join(settings.folder, 'reviewer.pem')
  const deps = { operator, store: storeOf(settings), redisUrl: settings.redisUrl, reviewerKeyFile }
  await publish(deps, { ...corpus, knowledgeBase, embedding: 'openai', endpoint: { model: 'load' } }, UNHEARD)
}
