import { credentials } from '@grpc/grpc-js'
import { createLog } from '#core/platform/log.ts'
import { openSearchNodeClient } from '#core/rpc/search-client.ts'
import { readConfig } from '#core/platform/config.ts'
import { knowledgeBaseNamed, organizationNamed } from '#operator/actions/names.ts'
import type { Operator } from '#operator/actions/operator.ts'
import { RERUN_VARIABLES, rerunDeps } from '#operator/commands/rerun.ts'
import { servedViews, startConsole } from '#operator/console/server.ts'
import type { DemoCorpus } from './corpus.ts'
import { operatorVariables, type Installation } from './installation.ts'
import { storeOf } from './local/stack.ts'

interface Asks {
  readonly corpus: Pick<DemoCorpus, 'slug' | 'title'>
  readonly organization: string
  readonly apiKey: string
}

type Running = Pick<Installation, 'settings' | 'operatorUrl' | 'searchNode' | 'gateway'>

/** Opens the page to ask and to see, which searches on the node that serves the version. */
export async function openPage(
  operator: Operator,
  { settings, operatorUrl, searchNode, gateway }: Running,
  { corpus, organization, apiKey }: Asks,
) {
  const variables = operatorVariables(settings, operatorUrl, operator.actor)
  const rerun = rerunDeps(operator.database, readConfig(RERUN_VARIABLES, variables))
  const { id: organizationId } = await organizationNamed(operator.database, organization)
  const { id: knowledgeBaseId } = await knowledgeBaseNamed(operator.database, corpus.slug)
  const client = openSearchNodeClient(searchNode.address, credentials.createInsecure())
  const views = servedViews({
    operator,
    rerun: { ...rerun, startNode: () => Promise.resolve({ client, stop: () => Promise.resolve() }) },
    store: storeOf(settings),
    gateway: gateway.baseUrl,
    apiKey,
    knowledgeBase: corpus,
    subject: { organizationId, knowledgeBaseId, environment: 'live' },
  })
  const page = await startConsole(corpus.title, views, createLog('page', 'warn'))
  return {
    url: page.url,
    async close() {
      await page.close()
      client.close()
    },
  }
}
