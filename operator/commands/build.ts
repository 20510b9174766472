import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { z } from 'zod'
import { changesInWords } from '#core/domain/changes.ts'
import { embeddingInWords, overlongWarning } from '#core/domain/embedding-counts.ts'
import { EMBEDDINGS } from '#core/embedding/embedder.ts'
import { endpointOptionsSchema } from '#core/embedding/settings.ts'
import { ENGINES } from '#core/index/engine/description.ts'
import { createArtifactStore } from '#core/index/format/store.ts'
import { listBuilds } from '#core/db/corpus-lists.ts'
import type { BuildListRow } from '#core/db/corpus-lists.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { ENDPOINT_OPTIONS, endpointInput, endpointOf } from '#operator/command-line/endpoint-options.ts'
import { enqueueBuild } from '#jobs/platform/queues.ts'
import { cancelUnfinishedBuild, retryFailedBuild, startBuild } from '#operator/actions/builds.ts'
import { buildNamed, knowledgeBaseNamed } from '#operator/actions/names.ts'
import type { Operator } from '#operator/actions/operator.ts'
import { buildStatus } from '#operator/command-line/build-status.ts'
import { addCommandGroup } from '#operator/command-line/command.ts'
import type { Output } from '#operator/command-line/command.ts'
import { list, rows, text, waitSeconds } from '#operator/command-line/inputs.ts'
import { withQueues } from '#operator/command-line/queues.ts'
import { READER_FLAGS, READER_NOTES, readerInput, readerOf } from './build-models.ts'
import { addDatabaseCommand } from '#operator/command-line/session.ts'
import { fields, table } from '#operator/command-line/table.ts'
import { WAIT_SECONDS_DEFAULT, waitForBuild } from '#operator/command-line/wait.ts'

const { ARTIFACT_STORE, EMBEDDING, REDIS_URL } = OPERATOR_VARIABLES
const WAIT = {
  '--wait': 'follow it to its end; exit code 1 unless the candidate passed its evaluation',
  '--wait-seconds <n>': `follow it for at most so long; default ${WAIT_SECONDS_DEFAULT}`,
} as const

const WITHDRAWN = {
  '--drop-withdrawn <withdrawals>': 'leave out the passages of these withdrawals in force: ids, or all',
  '--restore-withdrawn <withdrawals>': 'serve them again in this version: ids, or all',
} as const

const NOTES = `\
The job worker builds; this command only asks. A killed build resumes, and no partial version is ever visible.
A run that fails is tried again after 1 s to 1 min, for eight minutes; one that runs out of memory, once.

Who embeds:
  none    Nobody: the version has no vectors, words alone rank it, and no provider is asked at build or request. The
          choice for a large corpus without a model.
  openai  A model, which also finds passages that share no word with the question: every passage is sent to
          OPENAI_BASE_URL. A server without keys needs no OPENAI_API_KEY. With EMBEDDING=onnx for gateway, jobs and this
          command it is the encoder of this repository, and the default.

Engine:
  local       Search nodes hold the version's index; every node needs memory and disk for all of it.
  opensearch  An index of its own in the cluster at OPENSEARCH_URL gives the candidates, for a corpus larger than a node.
              Search nodes and the job worker need that variable. The decision is calibrated with this engine.

Search questions:
  What people may ask of a passage in everyday words. They are searched beside the texts, so a question finds a passage
  that shares no word with it. They are never served and are no evidence; the report and the comparison list them.
  openai  The chat model --chat-model writes two for each passage: every passage is sent to OPENAI_BASE_URL, once.
          The job worker logs the price in tokens before it begins; see the report before you approve what was written.

${READER_NOTES}

How the candidate is evaluated:
  question set  What people ask, answerable and not, with the passages that answer it: measures the ranking, fits the
                share of the vectors and the decision, and compares with the active version. Use one for whatever is
                served to others; 20 questions of either kind at least, better hundreds.
  known items   Without --questions, up to 200 passages are looked up by their own heading and opening words: tells
                whether the version finds what it holds, not whether it understands questions. The decision is a
                conservative default.`

export function addBuild(program: OperatorCommand): void {
  const build = addCommandGroup(program, 'build', 'builds of candidate versions: start, show, list, cancel, retry')
  addStart(build)
  addCancel(build)
  addRetry(build)
  addDatabaseCommand(build, {
    usage: 'show <build>',
    summary: 'show how far a build is, why its last run ended, when the next begins, or what it made',
    examples: ['build show 6f1c2a0e-7a38-4f4e-9c7e-0d6f6a2b9a11'],
    input: { build: text },
    variables: {},
    run: async (input, { operator, show }) => {
      showBuild(await buildNamed(operator.database, input.build), show)
    },
  })
  addDatabaseCommand(build, {
    usage: 'list',
    summary: 'list builds, newest first',
    flags: { '--knowledge-base <slug>': 'only those of one', '--rows <n>': 'show at most so many' },
    examples: ['build list', 'build list --knowledge-base hsfa-rules'],
    input: { knowledgeBase: text.optional(), rows },
    variables: {},
    run: async (input, { operator, show }) => {
      const base =
        input.knowledgeBase === undefined ? null : (await knowledgeBaseNamed(operator.database, input.knowledgeBase)).id
      const found = await listBuilds(operator.database, base, input.rows)
      const columns = {
        id: 'id',
        knowledge_base: 'knowledge base',
        state: 'state',
        stage: 'stage',
        done: 'done',
        total: 'total',
        attempt: 'attempt',
        status: 'status',
        version_id: 'version',
        created_at: 'created',
        error: 'error',
      }
      const shown = found.map((row) => ({ ...row, status: buildStatus(row) }))
      show(shown, () =>
        table(shown, columns, 'There is no build here: start one with "operator build start --import IMPORT".'),
      )
    },
  })
}

/** `all` becomes null. */
const withdrawals = list.transform((ids) => (ids.length === 1 && ids[0] === 'all' ? null : ids)).optional()

const START_FLAGS = {
  '--import <import>': 'id that "operator import" printed',
  '--questions <file>':
    'JSONL of {"id","text","relevant":[passage ids]}, ids as the page of a version shows them; an empty list: the corpus has no answer. ' +
    'Without it: known items, see below',
  '--search-questions <file|openai>':
    'JSONL of {"id","lang","q"}: what people may ask of a passage in their own words; or who writes them, see below',
  '--embedding <none|openai>': 'who embeds, see below; default: none, or openai with EMBEDDING=onnx',
  '--engine <local|opensearch>': 'where the version is searched; default: local, see below',
  '--target-risk <share>': 'at most this share of the answers without evidence; default 0.05',
  ...WITHDRAWN,
  ...ENDPOINT_OPTIONS,
  '--chat-model <name>': 'chat model that writes the search questions of --search-questions openai',
  ...READER_FLAGS,
  ...WAIT,
} as const

function addStart(build: OperatorCommand): void {
  addDatabaseCommand(build, {
    usage: 'start',
    summary: 'build and evaluate a candidate version from an import',
    flags: START_FLAGS,
    notes: NOTES,
    examples: ['build start --import 6f1c2a0e-7a38-4f4e-9c7e-0d6f6a2b9a11 --questions questions.jsonl --wait'],
    input: {
      import: text,
      questions: text.optional(),
      searchQuestions: text.optional(),
      embedding: z.enum(EMBEDDINGS, 'must be none or openai').optional(),
      engine: z.enum(ENGINES, 'must be local or opensearch').optional(),
      targetRisk: z.coerce
        .number('must be a number')
        .gt(0, 'must be greater than 0')
        .lt(1, 'must be less than 1')
        .default(0.05),
      dropWithdrawn: withdrawals,
      restoreWithdrawn: withdrawals,
      ...endpointInput,
      chatModel: endpointOptionsSchema.shape.chat_model,
      ...readerInput,
      wait: z.boolean().default(false),
      waitSeconds,
    },
    variables: { REDIS_URL, ARTIFACT_STORE, EMBEDDING },
    writes: true,
    run: async (input, { operator, config, progress, show }) => {
      const embedding = input.embedding ?? (config.EMBEDDING === 'onnx' ? 'openai' : 'none')
      const started = await withQueues(config.REDIS_URL, (open) =>
        startBuild(
          operator,
          {
            ...input,
            embedding,
            endpoint: { ...endpointOf(input), chat_model: input.chatModel },
            reader: readerOf(input),
            store: createArtifactStore(config.ARTIFACT_STORE),
          },
          (id) => enqueueBuild(open('build'), id),
        ),
      )
      if (!input.wait)
        return show(
          started,
          () =>
            `Build ${started.id} of "${started.knowledge_base}" is queued.\nNext: operator build show ${started.id}`,
        )
      await followBuild(operator, { progress, show }, started.id, input.waitSeconds)
    },
  })
}

function addCancel(build: OperatorCommand): void {
  addDatabaseCommand(build, {
    usage: 'cancel <build>',
    summary: 'end a build that waits or runs; it makes no candidate',
    notes:
      'A run ends with its next report of progress, mostly within a second. The build is failed, so "build retry" runs ' +
      'it again from the stages that it completed.',
    examples: ['build cancel 6f1c2a0e-7a38-4f4e-9c7e-0d6f6a2b9a11'],
    input: { build: text },
    variables: {},
    writes: true,
    run: async (input, { operator, show }) => {
      const { id } = await cancelUnfinishedBuild(operator, input.build)
      show({ id }, () => `Build ${id} is cancelled.\nNext: operator build show ${id}`)
    },
  })
}

function addRetry(build: OperatorCommand): void {
  addDatabaseCommand(build, {
    usage: 'retry <build>',
    summary: 'run a failed build again, with all its attempts, from the stages that it completed',
    flags: WAIT,
    notes: 'Possible for a day after the failure; after that, or to change anything, start another build.',
    examples: ['build retry 6f1c2a0e-7a38-4f4e-9c7e-0d6f6a2b9a11 --wait'],
    input: { build: text, wait: z.boolean().default(false), waitSeconds },
    variables: { REDIS_URL },
    writes: true,
    run: async (input, { operator, config, progress, show }) => {
      const { id } = await withQueues(config.REDIS_URL, (open) =>
        retryFailedBuild(operator, input.build, (each) => enqueueBuild(open('build'), each)),
      )
      if (input.wait) return await followBuild(operator, { progress, show }, id, input.waitSeconds)
      show({ id }, () => `Build ${id} is queued again.\nNext: operator build show ${id}`)
    },
  })
}

/** @throws OperatorError after the result where the candidate did not pass: a script must not go on with it. */
async function followBuild(
  operator: Operator,
  { progress, show }: Pick<Output, 'progress' | 'show'>,
  id: string,
  seconds: number,
): Promise<void> {
  const row = await waitForBuild(operator.database, id, seconds, progress)
  showBuild(row, show)
  if (row.passed !== true)
    throw new OperatorError(
      'The candidate did not pass its evaluation, so it cannot be activated: see "operator review show ' +
        `${row.version_id ?? id}", correct sources or questions, and build another candidate.`,
    )
}

function showBuild(row: BuildListRow, show: Output['show']): void {
  const changes = row.changes === null ? null : changesInWords(row.changes)
  const { embedding: counts } = row
  const embedding = counts === null || counts.sent === 0 ? null : embeddingInWords(counts)
  const warning = counts === null ? undefined : overlongWarning(counts)
  const shown = {
    ...row,
    changes,
    embedding,
    status: buildStatus(row),
    ...(warning === undefined ? {} : { warning }),
  }
  show(shown, () => `${fields(shown)}${next(row)}`)
}

function next({ version_id, passed }: BuildListRow): string {
  if (version_id === null) return ''
  return passed === true
    ? `\nNext: operator review show ${version_id}`
    : `\nThe candidate did not pass its evaluation: operator review show ${version_id}`
}
