import { join, resolve } from 'node:path'
import { activePointer } from '#core/db/corpus-lists.ts'
import { openDatabase } from '#core/db/pool.ts'
import { readVersion, type VersionRow } from '#core/db/versions.ts'
import type { Engine } from '#core/index/engine/description.ts'
import { secretVariable } from '#jobs/platform/config.ts'
import { canonicalJson, sha256 } from '#core/platform/digest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { createLog, describeCause } from '#core/platform/log.ts'
import { renderImportReport } from '#law/import/report/report.ts'
import type { Operator } from '#operator/actions/operator.ts'
import { embeddingEnvironment, flaggedEmbedding, flaggedOptions } from '#operator/command-line/embedding-flags.ts'
import type { EmbeddingFlags } from '#operator/command-line/embedding-flags.ts'
import { RECOMMENDED_MODEL, flagsWith, startOwnEncoder } from '#operator/command-line/own-encoder.ts'
import { createProgress } from '#operator/command-line/progress.ts'
import { INACTIVE_KNOWLEDGE_BASE, ensureCaller, ensureKnowledgeBase, readPlan } from './caller.ts'
import { readOrCreateState, writePrivately, writeState, type DemoState } from './state.ts'
import { builtInCorpus, corpusAt, corpusDigest, proposeStated, type DemoCorpus } from './corpus.ts'
import { openDraft } from './draft.ts'
import { demoFlags, type Assist, type DemoFlags } from './flags.ts'
import { startInstallation, type InstallationOptions } from './installation.ts'
import { openPage } from './page.ts'
import { publish, untilTraced, type PublishDeps } from './publish.ts'
import { firstTexts, showExchanges } from './show.ts'
import { storeOf } from '#operator/demo/local/stack.ts'
import { createSteps, type Steps } from './steps.ts'
import { clusterLacks } from '#operator/demo/local/opensearch/start.ts'
import { LocalProcessError, assertPortFree } from '#operator/demo/local/supervised-process.ts'

const ACTOR = 'demo'
const CONNECTIONS_MAX = 4
/** Exit code of a shell for SIGINT. A script learns from it that no exchange was shown. */
const INTERRUPTED = 130
/** The demo uses its own limits, so that its requests do not use up the caller's allowance. */
const OWN_LIMITS = {
  requests_per_minute: 600,
  requests_per_day: 10_000,
  requests_per_month: 100_000,
  // Whoever starts the demo has the corpus already, and may read all of it on the page.
  exposure: { floors: { corpus: 1_000_000, document: 1_000_000 } },
}

/** Starts all services, ensures a version and a caller, and shows exchanges with the gateway. */
async function demo(flags: DemoFlags, steps: Steps): Promise<void> {
  const proposed = flags.corpus === undefined ? undefined : await proposeStated(flags.corpus)
  const corpus = flags.corpus === undefined ? builtInCorpus() : corpusAt(flags.corpus)
  if (flags.draft) return await showDraft(corpus, proposed ?? '', steps)
  if (proposed !== undefined) throw new OperatorError(`${proposed}\n--draft shows how the files are cut meanwhile.`)
  const limits = flags.plan === undefined ? {} : readPlan(flags.plan)
  if (flags.port !== undefined) await assertPortFree(flags.port)
  const { environment: ofEmbedding, ...embedded } = await openEmbedding(flags.embedding, steps)
  const environment = { ...ofEmbedding, ...assistEnvironment(flags.assist, steps) }
  const folder = resolve(flags.dataDir)
  const stateFile = join(folder, 'state.json')
  const state = readOrCreateState(stateFile)
  const readyFiles = [join(folder, 'ready.json'), ...(flags.readyFile === undefined ? [] : [resolve(flags.readyFile)])]
  const installed = { folder, corpus, secrets: state.secrets, flags, actor: ACTOR, stale: readyFiles, environment }
  const installation = await startInstallation(installed, steps)
  const { settings, operatorUrl, gateway, trace } = installation
  const database = openDatabase(operatorUrl, createLog('demo', 'silent'), CONNECTIONS_MAX, 60_000)
  steps.onStop(() => database.end())
  const operator: Operator = { database, actor: ACTOR }
  const store = storeOf(settings)
  const deps = { operator, store, redisUrl: settings.redisUrl, reviewerKeyFile: join(folder, 'reviewer.pem') }
  const served = await ensureVersion(
    deps,
    corpus,
    { state, ...embedded, engine: flags.engine, assist: flags.assist },
    steps,
  )
  writeState(stateFile, state)
  await steps.run('source trace', () => untilTraced(trace.url, corpus.slug, served.id))

  const { keys, ...callers } = await ensureCallers(operator, state, flags, { corpus, limits, served })
  writeState(stateFile, state)
  const organization = `demo-${corpus.slug}`
  const page = await openPage(operator, installation, { corpus, organization, apiKey: callers.ownKey })
  steps.onStop(() => page.close())

  const sampleTexts = await firstTexts(join(store.artifactFolder(served.id), 'passages.jsonl'))
  const asked = {
    ...callers,
    baseUrl: gateway.baseUrl,
    corpus,
    sampleTexts,
    queries: flags.query,
    facets: served.facets,
  }
  const shown = await showExchanges(asked, (text) => steps.print(text))
  const ready = {
    base_url: gateway.baseUrl,
    internal_url: gateway.internalUrl,
    api_key: callers.apiKey,
    knowledge_base: corpus.slug,
    ...shown,
    trace_url: trace.url,
    page_url: page.url,
    manifest_public_key: settings.secrets.MANIFEST_PUBLIC_KEY,
    keys,
    inactive_knowledge_base: INACTIVE_KNOWLEDGE_BASE,
  }
  announce(ready, readyFiles, flags.dataDir, steps)
}

async function showDraft(corpus: DemoCorpus, proposed: string, steps: Steps): Promise<void> {
  const page = await openDraft(corpus)
  steps.onStop(() => page.close())
  steps.print(`${proposed}\nSee how it is cut: ${page.url}`)
}

type Ready = Readonly<Record<'base_url' | 'internal_url' | 'knowledge_base' | 'trace_url' | 'page_url', string>>

function announce(ready: Ready, files: readonly string[], dataDir: string, steps: Steps): void {
  for (const file of files) writePrivately(file, JSON.stringify(ready, null, 2))
  const { base_url: gateway, internal_url: internal, trace_url: trace, knowledge_base: slug, page_url: page } = ready
  steps.print(
    `Ask and see why: ${page}\nReady: ${gateway}/v1/retrieve  (health, metrics and OpenAPI: ${internal})\n` +
      `Source trace: ${trace}/${slug}/\nLogs: ${join(dataDir, 'logs')}`,
  )
}

/**
 * Starts the encoder of `--model`, and says with which encoder the demo runs.
 * @returns `named`: what makes another version where it changes. An encoder of its own is known by its digest, not its
 * port.
 */
async function openEmbedding(flags: EmbeddingFlags, steps: Steps) {
  const { model } = flags
  const embedding = flaggedEmbedding(flags)
  if (model === undefined) {
    const environment = embeddingEnvironment(flags)
    const endpoint = flaggedOptions(flags)
    steps.note(
      endpoint?.model === undefined
        ? `Encoder: none, words alone rank. ${BETTER}`
        : `Encoder: ${endpoint.model} at the endpoint of --embeddings.`,
    )
    return { embedding, endpoint, environment, named: { url: environment['OPENAI_BASE_URL'], ...endpoint } }
  }
  const encoder = await steps.run('encoder', () => startOwnEncoder({ ...flags, model }))
  steps.onStop(() => encoder.stop())
  steps.note(`Encoder: ${encoder.model}, a process of its own.`)
  encoder.ended.addEventListener('abort', () => steps.print(sentenceOf(encoder.ended.reason)))
  const own = flagsWith(flags, encoder)
  const environment = { ...embeddingEnvironment(own), EMBEDDING: 'onnx' }
  const named = { model: encoder.model, digest: encoder.digest }
  return { embedding, endpoint: flaggedOptions(own), environment, named }
}

const BETTER =
  `A real model finds more: "npm run operator -- models fetch ${RECOMMENDED_MODEL}", then ` +
  `"npm run demo -- --model ${RECOMMENDED_MODEL}".`

/** The partner whose key is printed, and the demo itself, once more without assistance where there is any. */
async function ensureCallers(
  operator: Operator,
  state: DemoState,
  { assist }: Pick<DemoFlags, 'assist'>,
  { corpus, limits, served }: { readonly corpus: DemoCorpus; readonly limits: unknown; readonly served: VersionRow },
) {
  const { languages, jurisdictions } = served.facets
  const assistance = assist !== undefined
  const entitled = { knowledgeBase: corpus.slug, languages, jurisdictions, assistance }
  const { valid: apiKey, ...keys } = await ensureCaller(operator, state, {
    ...entitled,
    application: 'partner',
    limits,
  })
  const own = { ...entitled, application: 'demo', limits: OWN_LIMITS }
  const { valid: ownKey } = await ensureCaller(operator, state, own)
  const plain = { ...own, application: 'demo-unassisted', assistance: false }
  return {
    apiKey,
    keys,
    ownKey,
    unassistedKey: assistance ? (await ensureCaller(operator, state, plain)).valid : undefined,
  }
}

/** Variables of the services for the chat model, and what is said of it. */
function assistEnvironment(assist: Assist | undefined, steps: Steps): InstallationOptions['environment'] {
  if (assist === undefined) {
    steps.note('Everyday questions: "npm run demo -- --assist URL MODEL", with any OpenAI-compatible chat model.')
    return {}
  }
  const { url, model, keyEnv } = assist
  steps.note(`Assistance: ${model} at ${url} rewrites questions and reads passages; it sees both.`)
  const key = keyEnv === undefined ? undefined : secretVariable(keyEnv)
  return { REWRITER_BASE_URL: url, READER_BASE_URL: url, ...(key && { REWRITER_API_KEY: key, READER_API_KEY: key }) }
}

interface Built extends Omit<Awaited<ReturnType<typeof openEmbedding>>, 'environment'> {
  readonly state: DemoState
  readonly engine: Engine
  readonly assist: Assist | undefined
}

/** Returns the served version: the one built from this source, else a new one. */
async function ensureVersion(
  deps: PublishDeps,
  corpus: DemoCorpus,
  { state, embedding, endpoint, named, engine, assist }: Built,
  steps: Steps,
): Promise<VersionRow> {
  const { operator } = deps
  const base = await ensureKnowledgeBase(operator, corpus.slug, corpus.title)
  // Another engine, embedding, endpoint, model or prefix makes another version; the key may change.
  const assistant = assist?.model
  const built = { corpus: await corpusDigest(corpus), embedding, engine, named, assistant, url: assist?.url }
  const digest = sha256(canonicalJson(built)).toString('hex')
  if (state.built_from[corpus.slug] === digest && (await activePointer(operator.database, base.id)) !== undefined)
    steps.note(`${corpus.title}: the active version is built from this source already.`)
  else {
    const progress = createProgress(process.stderr)
    const { report } = await publish(
      deps,
      { ...corpus, knowledgeBase: corpus.slug, embedding, endpoint, engine, assistant },
      progress,
    )
    progress.end()
    // Only the counts are shown; `operator imports show --json` lists the skipped records of the report.
    steps.note(renderImportReport(report).split('\n\n')[0] ?? '')
    state.built_from[corpus.slug] = digest
  }
  const pointer = await activePointer(operator.database, base.id)
  const served = pointer === undefined ? undefined : await readVersion(operator.database, pointer.version_id)
  if (served === undefined)
    throw new OperatorError(`${corpus.slug} has no active version: start again with an empty --data-dir.`)
  return served
}

/** @throws LocalProcessError before anything is started, where this machine cannot run the engine. */
function assertEngine(engine: Engine): void {
  const lacks = engine === 'opensearch' ? clusterLacks() : undefined
  if (lacks !== undefined) throw new LocalProcessError(lacks)
}

function sentenceOf(error: unknown): string {
  if (error instanceof OperatorError || error instanceof LocalProcessError) return error.message
  if (error instanceof Error && 'path' in error && 'code' in error)
    return `${String(error.path)} cannot be used (${String(error.code)}): name a folder that this account may write to.`
  return describeCause(error)
}

const steps = createSteps(process.stdout)
let shown = false
try {
  const flags = demoFlags(process.argv.slice(2))
  steps.stopOnSignals(() => (shown ? 0 : INTERRUPTED))
  assertEngine(flags.engine)
  await demo(flags, steps)
  shown = true
  if (flags.once) await steps.stop(0)
  else steps.print('Ctrl-C stops everything.')
} catch (error) {
  // Errors caused by stopping the services are not reported.
  if (!steps.isStopping()) steps.print(sentenceOf(error))
  await steps.stop(1)
}
