import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { listBuilds, type BuildListRow } from '#core/db/corpus-lists.ts'
import { changesInWords } from '#core/domain/changes.ts'
import { embeddingInWords, overlongWarning } from '#core/domain/embedding-counts.ts'
import { EMBEDDINGS } from '#core/embedding/embedder.ts'
import { endpointOptionsSchema } from '#core/embedding/settings.ts'
import { ENGINES } from '#core/index/engine/description.ts'
import { openArtifactStore } from '#core/index/format/store.ts'
import { STORE_SETTINGS } from '#core/index/settings.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { endpointInput, endpointOf } from '#operator/command-line/embedding-flags.ts'
import { enqueueBuild } from '#jobs/platform/queues.ts'
import { cancelUnfinishedBuild, retryFailedBuild, startBuild } from '#operator/actions/builds.ts'
import { buildNamed, idOf, knowledgeBaseNamed } from '#operator/actions/names.ts'
import type { Commands, Shown } from '#operator/command-line/command.ts'
import { commaList, isGiven, option, rows, text, waitSeconds, whole } from '#operator/command-line/inputs.ts'
import { buildStatus, waitForBuild } from '#operator/command-line/wait.ts'
import { withQueues } from '#operator/command-line/queues.ts'
import { fields } from '#operator/command-line/table.ts'
import { change, group, list, verb, type Session } from '#operator/command-line/verbs.ts'
import {
  ORDERED_PASSAGES_MAX,
  ORDERED_PASSAGES_MIN,
  READER_KINDS,
  READER_SCORES,
  READ_PASSAGES_MAX,
  orders,
} from '#core/domain/retrieval-profile.ts'
import type { BuildParameters } from '#jobs/version-build/parameters.ts'
import HELP from './build-options.json' with { type: 'json' }

const ORDERED_PASSAGES_DEFAULT = 20

const onFailure = z.enum(['refuse', 'decide_without'], 'must be refuse or decide_without').default('refuse')

const readerInput = {
  reader: option('<model>', 'this model of READER_BASE_URL scores the first passages of each request, see below'),
  readerKind: option(
    '<chat|cross-encoder>',
    'a chat model, or one that is asked at {base}/rerank; default chat',
    z.enum(READER_KINDS, 'must be chat or cross-encoder').default('chat'),
  ),
  readerScores: option(
    '<order|decide|both>',
    'what its scores do; default decide',
    z.enum(READER_SCORES, 'must be order, decide or both').default('decide'),
  ),
  readerPassages: option(
    '<n>',
    `passages that it orders; default ${ORDERED_PASSAGES_DEFAULT}`,
    whole(ORDERED_PASSAGES_MIN, ORDERED_PASSAGES_MAX).optional(),
  ),
  readerFailure: option('<refuse|decide_without>', HELP.readerFailure, onFailure),
}

const rewriterInput = {
  rewriter: option('<model>', 'this chat model of REWRITER_BASE_URL writes search queries for each question'),
  rewriterFailure: option('<refuse|decide_without>', HELP.rewriterFailure, onFailure),
}

function rewriterOf({
  rewriter: model,
  rewriterFailure,
}: z.output<z.ZodObject<typeof rewriterInput>>): BuildParameters['rewriter'] {
  return model === undefined ? undefined : { model, on_failure: rewriterFailure }
}

/** @throws OperatorError where a reader that orders is to be left out after a failure. */
function readerOf(input: z.output<z.ZodObject<typeof readerInput>>): BuildParameters['reader'] {
  const { reader: model, readerKind: kind, readerScores: scores, readerFailure } = input
  if (model === undefined) return undefined
  if (orders({ scores }) && readerFailure !== 'refuse')
    throw new OperatorError(
      '--reader-failure decide_without needs --reader-scores decide: a version is served in the order that it was ' +
        'evaluated with.',
    )
  const passages = orders({ scores }) ? (input.readerPassages ?? ORDERED_PASSAGES_DEFAULT) : READ_PASSAGES_MAX
  return { model, kind, scores, passages, on_failure: readerFailure }
}

const { EMBEDDING, REDIS_URL } = OPERATOR_VARIABLES
const wait = option('', 'follow it to its end; exit code 1 unless the candidate passed its evaluation', isGiven)
/** `all` becomes null. */
const withdrawals = commaList.transform((ids) => (ids.length === 1 && ids[0] === 'all' ? null : ids)).optional()

const startInput = {
  import: option('<import>', 'id that "operator import" printed', text),
  questions: option('<file>', HELP.questions),
  searchQuestions: option('<file|openai>', HELP.searchQuestions),
  embedding: option(
    '<none|openai>',
    'who embeds, see below; default: none, or openai with EMBEDDING=onnx',
    z.enum(EMBEDDINGS, 'must be none or openai').optional(),
  ),
  engine: option(
    '<local|opensearch>',
    'where the version is searched; default: local, see below',
    z.enum(ENGINES, 'must be local or opensearch').optional(),
  ),
  targetRisk: option(
    '<share>',
    'at most this share of the answers without evidence; default 0.05',
    z.coerce.number('must be a number').gt(0, 'must be greater than 0').lt(1, 'must be less than 1').default(0.05),
  ),
  dropWithdrawn: option('<withdrawals>', 'leave out passages of these withdrawals in force: ids, or all', withdrawals),
  restoreWithdrawn: option('<withdrawals>', 'serve them again in this version: ids, or all', withdrawals),
  ...endpointInput,
  chatModel: option('<name>', HELP.chatModel, endpointOptionsSchema.shape.chat_model),
  ...rewriterInput,
  ...readerInput,
  wait,
  waitSeconds,
}

const NOTES = readFileSync(new URL('./build-notes.txt', import.meta.url), 'utf8').trimEnd()

export const commands: Commands = [
  group('build', 'builds of candidate versions: start, show, list, cancel, retry', [
    change('start', 'build and evaluate a candidate version from an import', {
      notes: NOTES,
      input: startInput,
      variables: { REDIS_URL, ...STORE_SETTINGS, EMBEDDING },
      async run(input, { operator, config, ...session }) {
        const embedding = input.embedding ?? (config.EMBEDDING === 'onnx' ? 'openai' : 'none')
        const started = await withQueues(config.REDIS_URL, (open) =>
          startBuild(
            operator,
            {
              ...input,
              embedding,
              endpoint: { ...endpointOf(input), chat_model: input.chatModel },
              rewriter: rewriterOf(input),
              reader: readerOf(input),
              store: openArtifactStore(config),
            },
            (id) => enqueueBuild(open('build'), id),
          ),
        )
        const { id, knowledge_base: base } = started
        if (input.wait) return await followed(session, id, input.waitSeconds)
        return [started, `Build ${id} of "${base}" is queued.\nNext: operator build show ${id}`]
      },
    }),
    change('cancel <build>', 'end a build that waits or runs; it makes no candidate', {
      notes:
        'A run ends with its next report of progress, mostly within a second. The build is failed, so "build retry" runs ' +
        'it again from the stages that it completed.',
      input: { build: text },
      async run({ build }, { operator }) {
        const { id } = await cancelUnfinishedBuild(operator, build)
        return [{ id }, `Build ${id} is cancelled.\nNext: operator build show ${id}`]
      },
    }),
    change('retry <build>', 'run a failed build again, with all its attempts, from the stages that it completed', {
      notes: 'Possible for a day after the failure; after that, or to change anything, start another build.',
      input: { build: text, wait, waitSeconds },
      variables: { REDIS_URL },
      async run(input, { operator, config, ...session }) {
        const { id } = await withQueues(config.REDIS_URL, (open) =>
          retryFailedBuild(operator, input.build, (each) => enqueueBuild(open('build'), each)),
        )
        if (input.wait) return await followed(session, id, input.waitSeconds)
        return [{ id }, `Build ${id} is queued again.\nNext: operator build show ${id}`]
      },
    }),
    verb('show <build>', 'show how far a build is, why its last run ended, when the next begins, or what it made', {
      input: { build: text },
      run: async ({ build }, { database }) => shown(await buildNamed(database, build)),
    }),
    list('list', 'list builds, newest first', {
      input: { knowledgeBase: option('<slug>', 'only those of one'), rows },
      async read(input, { database }) {
        const base = await idOf(knowledgeBaseNamed, database, input.knowledgeBase)
        return (await listBuilds(database, base, input.rows)).map((row) => ({ ...row, status: buildStatus(row) }))
      },
      columns: 'id knowledge_base state stage done total attempt status version_id created_at error',
      empty: 'There is no build here: start one with "operator build start --import IMPORT".',
    }),
  ]),
]

/** @throws OperatorError after the result where the candidate did not pass: a script must not go on with it. */
async function followed(
  { database, progress, show }: Pick<Session, 'database' | 'progress' | 'show'>,
  id: string,
  seconds: number,
): Promise<undefined> {
  const row = await waitForBuild(database, id, seconds, progress)
  show(...shown(row))
  if (row.passed !== true)
    throw new OperatorError(
      'The candidate did not pass its evaluation, so it cannot be activated: see "operator review show ' +
        `${row.version_id ?? id}", correct sources or questions, and build another candidate.`,
    )
}

function shown(row: BuildListRow): Shown {
  const { embedding: counts } = row
  const warning = counts === null ? undefined : overlongWarning(counts)
  const fieldsShown = {
    ...row,
    changes: row.changes === null ? null : changesInWords(row.changes),
    embedding: counts === null || counts.sent === 0 ? null : embeddingInWords(counts),
    status: buildStatus(row),
    ...(warning === undefined ? {} : { warning }),
  }
  return [fieldsShown, `${fields(fieldsShown)}${next(row)}`]
}

function next({ version_id, passed }: BuildListRow): string {
  if (version_id === null) return ''
  return passed === true
    ? `\nNext: operator review show ${version_id}`
    : `\nThe candidate did not pass its evaluation: operator review show ${version_id}`
}
