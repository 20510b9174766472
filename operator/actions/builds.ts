import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { cancelBuild, insertBuild, retryBuild } from '#core/db/builds.ts'
import { withdrawalsInForce } from '#core/db/withdrawals.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { EVALUATION_BOUNDS } from '#jobs/evaluation/bounds.ts'
import { BUILD_BOUNDS } from '#jobs/version-build/bounds.ts'
import { buildParametersSchema, type BuildParameters } from '#jobs/version-build/parameters.ts'
import { undecidedInWords } from '#jobs/version-build/withdrawn.ts'
import { captureLines, captureSearchQuestions } from '#jobs/version-build/search-questions/file.ts'
import { parseQuestions } from '#jobs/evaluation/questions.ts'
import { buildNamed, importNamed, knowledgeBaseNamed } from './names.ts'
import { enqueueCommitted, withAudit, type Enqueue, type Operator } from './operator.ts'

export interface StartBuild {
  readonly import: string
  /** Path of a question set; without one the candidate is evaluated on its own passages as known items. */
  readonly questions?: string | undefined
  /** Path of a file of search questions, or `openai`: a model writes them; a version without any if undefined. */
  readonly searchQuestions?: string | undefined
  readonly embedding: BuildParameters['embedding']
  readonly endpoint?: BuildParameters['endpoint']
  readonly engine?: BuildParameters['engine']
  readonly targetRisk?: number
  /** Chat model that writes search queries for each question. */
  readonly rewriter?: BuildParameters['rewriter']
  /** Model that scores the first passages of each request. */
  readonly reader?: BuildParameters['reader']
  /** Withdrawals in force whose passages the version leaves out, or that do not apply to it; undefined: none. */
  readonly dropWithdrawn?: WithdrawalsNamed
  readonly restoreWithdrawn?: WithdrawalsNamed
  readonly store: ArtifactStore
}

/** Ids; null: every one that the other flag does not name. */
export type WithdrawalsNamed = readonly string[] | null | undefined

/**
 * Requests the build of a candidate version. The question set is captured first, so that the evaluation can be repeated
 * on the same bytes.
 */
export async function startBuild(operator: Operator, input: StartBuild, enqueue: Enqueue) {
  const source = await importNamed(operator.database, input.import)
  const base = await knowledgeBaseNamed(operator.database, source.knowledge_base)
  const questions =
    input.questions === undefined ? {} : { questions_sha256: await captureQuestions(input.questions, input.store) }
  const searchQuestions = await searchQuestionsOf(input)
  const parameters = buildParametersSchema.parse({
    embedding: input.embedding,
    ...endpointFor(input),
    target_risk: input.targetRisk,
    ...questions,
    ...searchQuestions,
    ...(input.rewriter === undefined ? {} : { rewriter: input.rewriter }),
    ...(input.reader === undefined ? {} : { reader: input.reader }),
    withdrawals: await decideWithdrawals(operator, base.id, input),
    ...(input.engine === undefined ? {} : { engine: input.engine }),
  })
  const id = randomUUID()
  const detail = { knowledge_base: base.slug, import_id: source.id, parameters }
  const result = await withAudit(operator, 'build.start', async (client) => {
    const row = { id, knowledgeBaseId: base.id, importId: source.id, parameters, startedBy: operator.actor }
    await insertBuild(client, row)
    return [{ id, import_id: source.id, knowledge_base: base.slug, parameters }, `build:${id}`, detail]
  })
  await enqueueCommitted(enqueue, id, `build show ${id}`)
  return result
}

/** @throws OperatorError where nobody embeds and options say how. */
function endpointFor({ embedding, endpoint = {} }: StartBuild): Pick<BuildParameters, 'endpoint'> {
  const { chat_model: _, tokens_per_minute: __, retry_ms: ___, ...embeds } = endpoint
  const isNamed = (options: object): boolean => Object.values(options).some((value) => value !== undefined)
  if (embedding === 'none' && isNamed(embeds))
    throw new OperatorError('The --embedding-… options say how a model embeds: add --embedding openai.')
  return isNamed(endpoint) ? { endpoint } : {}
}

/** @throws OperatorError unless each withdrawal in force is decided, once. */
async function decideWithdrawals(
  { database }: Operator,
  knowledgeBaseId: string,
  { dropWithdrawn, restoreWithdrawn }: Pick<StartBuild, 'dropWithdrawn' | 'restoreWithdrawn'>,
): Promise<BuildParameters['withdrawals']> {
  const inForce = await withdrawalsInForce(database, knowledgeBaseId)
  const strange = [...(dropWithdrawn ?? []), ...(restoreWithdrawn ?? [])].find((id) =>
    inForce.every((one) => one.id !== id),
  )
  if (strange !== undefined)
    throw new OperatorError(`No withdrawal "${strange}" is in force here: see "operator withdrawals list".`)
  const isNamed = (named: WithdrawalsNamed, id: string): boolean => named !== undefined && (named?.includes(id) ?? true)
  const drop = inForce.filter(({ id }) => isNamed(dropWithdrawn, id) && restoreWithdrawn?.includes(id) !== true)
  const restore = inForce.filter(({ id }) => isNamed(restoreWithdrawn, id) && dropWithdrawn?.includes(id) !== true)
  const open = inForce.filter((one) => drop.includes(one) === restore.includes(one))
  if (open.length > 0) throw new OperatorError(undecidedInWords(open))
  return { drop: [...drop], restore: restore.map(({ id }) => id) }
}

async function searchQuestionsOf(input: StartBuild) {
  const { searchQuestions: from, endpoint, store } = input
  if (from === undefined) return {}
  if (from === 'openai') {
    if (endpoint?.chat_model === undefined)
      throw new OperatorError('--search-questions openai needs a chat model: name it with --chat-model.')
    return { search_questions: from }
  }
  return { search_questions_sha256: await captureSearchQuestions(from, store) }
}

/** Ends a build that has not ended. It may be retried as a failed one. */
export async function cancelUnfinishedBuild(operator: Operator, buildId: string): Promise<{ readonly id: string }> {
  return await withAudit(operator, 'build.cancel', async (client) => {
    const { id, state, stage } = await buildNamed(client, buildId)
    if (!(await cancelBuild(client, id, `it was cancelled by ${operator.actor}`)))
      throw new OperatorError(`The build has ended: there is nothing to cancel; see "operator build show ${id}".`)
    return [{ id }, `build:${id}`, { state, stage }]
  })
}

/** Queues a failed build again. It keeps its id and parameters, and goes on from the stages that it completed. */
export async function retryFailedBuild(operator: Operator, buildId: string, enqueue: Enqueue) {
  const result = await withAudit(operator, 'build.retry', async (client) => {
    const { id, state, error, import_id } = await buildNamed(client, buildId)
    if (state !== 'failed')
      throw new OperatorError(`The build is ${state}, not failed: there is nothing to retry; see "build show ${id}".`)
    if (!(await retryBuild(client, id, BUILD_BOUNDS.failedBuildRetryableMs)))
      throw new OperatorError(
        'The build failed more than a day ago, or somebody else retried it: see "operator build show ' +
          `${id}", or start another with "operator build start --import ${import_id}".`,
      )
    return [{ id }, `build:${id}`, { failed_with: error }]
  })
  await enqueueCommitted(enqueue, result.id, `build show ${result.id}`)
  return result
}

/** @returns the SHA-256 (hex) under which the store holds the question set. */
async function captureQuestions(path: string, store: ArtifactStore): Promise<string> {
  const sha256 = await captureLines(path, store, 'The question set', EVALUATION_BOUNDS.evaluationQuestionsBytesMax)
  parseQuestions(await readFile(await store.fetch(store.snapshotFile(sha256)), 'utf8'))
  return sha256
}
