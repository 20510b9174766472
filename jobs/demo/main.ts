import { join, resolve } from 'node:path'
import { openArtifactStore } from '#core/artifact/store.ts'
import { migrate } from '#core/db/migrate.ts'
import { openDatabase } from '#core/db/pool.ts'
import { provisionLogins } from '#core/db/provision.ts'
import { activePointer } from '#core/db/corpus-lists.ts'
import { readVersion } from '#core/db/versions.ts'
import { OperatorError } from '#core/errors.ts'
import { createLog, describeCause } from '#core/log.ts'
import type { Operator } from '#jobs/operator/actions/operator.ts'
import { createProgress } from '#jobs/operator/progress.ts'
import { renderImportReport } from '#jobs/import/report.ts'
import { INACTIVE_KNOWLEDGE_BASE, ensureCaller, ensureKnowledgeBase, readPlan } from './caller.ts'
import { builtInCorpus, corpusAt, corpusDigest } from './corpus.ts'
import { demoFlags } from './flags.ts'
import type { DemoFlags } from './flags.ts'
import { startPostgres } from './postgres.ts'
import { publish } from './publish.ts'
import { firstTexts, showExchanges } from './show.ts'
import { readOrCreateState, writePrivately, writeState } from './state.ts'
import { startRedis } from './redis.ts'
import { startGateway, startJobs, startSearchNode, storeUrl } from './stack.ts'
import type { StackSettings } from './stack.ts'
import { newSteps } from './steps.ts'
import type { Steps } from './steps.ts'

const DATABASE = 'evidence'
const ACTOR = 'demo'
const CONNECTIONS_MAX = 4

/** From nothing to a cited answer: every part real, every step told. */
async function demo(flags: DemoFlags, steps: Steps): Promise<void> {
  const corpus = flags.corpus === undefined ? builtInCorpus() : corpusAt(flags.corpus)
  const folder = resolve(flags.dataDir)
  const stateFile = join(folder, 'state.json')
  const state = readOrCreateState(stateFile)
  const say = (line: string): void => steps.note(line)

  const postgres = await steps.run('Postgres', () => startPostgres({ folder: join(folder, 'postgres'), onLog: say }))
  steps.onStop(() => postgres.stop())
  const redis = await steps.run('Redis', () => startRedis({ folder: join(folder, 'redis'), onLog: say }))
  steps.onStop(() => redis.stop())
  const logins = await steps.run('schema', async () => {
    await postgres.createDatabase(DATABASE)
    await migrate(postgres.adminUrl(DATABASE))
    return provisionLogins(postgres.adminUrl(DATABASE))
  })
  const settings: StackSettings = { folder, serviceUrl: logins.serviceUrl, redisUrl: redis.url, keyEnvironment: 'live', secrets: state.secrets }
  const searchNode = await steps.run('search node', () => startSearchNode(settings))
  steps.watch(searchNode)
  steps.watch(await steps.run('job worker', () => startJobs(settings, [searchNode.address])))
  const gateway = await steps.run('gateway', () => startGateway(settings, [searchNode.address], 'gateway', flags.port))
  steps.watch(gateway)

  const database = openDatabase(logins.operatorUrl, createLog('demo', 'silent'), CONNECTIONS_MAX, 60_000)
  steps.onStop(() => database.end())
  const store = openArtifactStore(storeUrl(settings))
  const operator: Operator = { database, actor: ACTOR }
  const base = await ensureKnowledgeBase(operator, corpus.slug, corpus.title)
  const digest = corpusDigest(corpus)
  if (state.built_from[corpus.slug] === digest && (await activePointer(database, base.id)) !== undefined)
    steps.note(`${corpus.title}: the active version is built from this source already`)
  else {
    const progress = createProgress(process.stderr)
    const { report } = await publish({ operator, store, redisUrl: redis.url }, { ...corpus, knowledgeBase: corpus.slug, embedding: 'local' }, progress)
    progress.end()
    steps.note(renderImportReport(report))
    state.built_from[corpus.slug] = digest
    writeState(stateFile, state)
  }
  const pointer = await activePointer(database, base.id)
  const served = pointer === undefined ? undefined : await readVersion(database, pointer.version_id)
  if (served === undefined) throw new OperatorError(`${corpus.slug} has no active version: remove ${flags.dataDir} and start again.`)
  const { languages, jurisdictions } = served.facets
  const entitled = { knowledgeBase: corpus.slug, languages, jurisdictions }
  const { valid: apiKey, ...keys } = await ensureCaller(operator, state, {
    ...entitled,
    application: 'partner',
    limits: flags.plan === undefined ? {} : readPlan(flags.plan),
  })
  const { valid: ownKey } = await ensureCaller(operator, state, { ...entitled, application: 'demo', limits: { requests_per_minute: 600 } })
  writeState(stateFile, state)

  const shown = await showExchanges(
    {
      baseUrl: gateway.baseUrl,
      apiKey,
      ownKey,
      corpus,
      sampleTexts: await firstTexts(join(store.artifactFolder(served.projection_id), 'passages.jsonl')),
      queries: flags.queries,
      facets: { languages, jurisdictions },
    },
    (text) => steps.print(text),
  )
  const ready = {
    base_url: gateway.baseUrl,
    internal_url: gateway.internalUrl,
    api_key: apiKey,
    knowledge_base: corpus.slug,
    answer_query: shown.answerQuery,
    abstain_query: shown.abstainQuery,
    keys,
    inactive_knowledge_base: INACTIVE_KNOWLEDGE_BASE,
    forbidden_language: shown.forbiddenLanguage,
    forbidden_jurisdiction: shown.forbiddenJurisdiction,
  }
  if (flags.readyFile !== undefined) writePrivately(resolve(flags.readyFile), JSON.stringify(ready, null, 2))
  steps.print(`Ready: ${gateway.baseUrl}/v1/retrieve  (health, metrics and OpenAPI: ${gateway.internalUrl})\nLogs: ${join(flags.dataDir, 'logs')}`)
}

const steps = newSteps(process.stdout)
try {
  const flags = demoFlags(process.argv.slice(2))
  steps.stopOnSignals()
  await demo(flags, steps)
  if (flags.once) await steps.stop(0)
  else steps.print('Ctrl-C stops everything.')
} catch (error) {
  steps.print(error instanceof OperatorError || (error instanceof Error && error.name === 'LocalProcessError') ? error.message : describeCause(error))
  await steps.stop(1)
}
