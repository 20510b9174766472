import { z } from 'zod'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { QUEUES, type JobQueue, type QueueName } from '#jobs/platform/queues.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { text } from '#operator/command-line/inputs.ts'
import { withQueues } from '#operator/command-line/queues.ts'
import { fields, table } from '#operator/command-line/table.ts'
import { change, group, verb } from '#operator/command-line/verbs.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { withAudit, type Operator } from '#operator/actions/operator.ts'

const { REDIS_URL } = OPERATOR_VARIABLES
const queueName = z.enum(QUEUES, `must be one of ${QUEUES.join(', ')}`)

export const commands: Commands = [
  group('jobs', 'the queues of the job worker: list, show, retry', [
    verb('list', 'count the jobs of every queue and list those that failed, with their reasons', {
      notes:
        'A job holds only the id of a row in Postgres, which is the source of truth. A lost job is ' +
        'enqueued again within seconds.',
      variables: { REDIS_URL },
      async run(_input, { config }) {
        const found = await withQueues(config.REDIS_URL, queueStates)
        const states = 'queue waiting active delayed failed completed workers'
        const columns = 'queue id=job failed_at attempts reason'
        return [found, `${table(found.queues, states)}\n\n${table(found.failed, columns, 'No job has failed.')}`]
      },
    }),
    verb('show <queue> <job>', 'show one job', {
      input: { queue: queueName, job: text },
      variables: { REDIS_URL },
      async run(input, { config }) {
        const job = await withQueues(config.REDIS_URL, (open) => showJob(open(input.queue), input.job))
        return [job, fields(job)]
      },
    }),
    change('retry <queue> <job>', 'run a failed job of the ledger again', {
      notes: 'A failed build is run again by "build retry"; an activation is asked for again by "activate".',
      input: { queue: queueName, job: text },
      variables: { REDIS_URL },
      async run(input, { operator, config }) {
        const retried = await withQueues(config.REDIS_URL, (open) => retryJob(operator, open(input.queue), input.job))
        return [retried, `Job ${retried.id} of queue ${retried.queue} waits to run again.`]
      },
    }),
  ]),
]

const FAILED_SHOWN_MAX = 50

type Job = NonNullable<Awaited<ReturnType<JobQueue['getJob']>>>

/** Returns the counts of every queue, and the newest failed jobs of each. */
export async function queueStates(open: (name: QueueName) => JobQueue) {
  const queues = []
  const failed = []
  for (const name of QUEUES) {
    const queue = open(name)
    const counts = await queue.getJobCounts('wait', 'prioritized', 'active', 'delayed', 'failed', 'completed')
    const of = (...states: readonly string[]): number => states.reduce((sum, state) => sum + (counts[state] ?? 0), 0)
    queues.push({
      queue: name,
      waiting: of('wait', 'prioritized'),
      active: of('active'),
      delayed: of('delayed'),
      failed: of('failed'),
      completed: of('completed'),
      workers: await queue.getWorkersCount(),
    })
    for (const job of await queue.getJobs(['failed'], 0, FAILED_SHOWN_MAX - 1))
      failed.push(described(name, job, 'failed'))
  }
  return { queues, failed }
}

async function showJob(queue: JobQueue, id: string): Promise<ReturnType<typeof described>> {
  const job = await jobNamed(queue, id)
  return described(queue.name, job, await job.getState())
}

/** Queues whose jobs hold all that they need. Rows of Postgres decide about builds and activations. */
const RETRIED_OTHERWISE: Readonly<Partial<Record<string, string>>> = {
  build: 'A build is tried again by itself, and after it failed with "operator build retry BUILD".',
  activate: 'An activation is tried again by itself; ask anew with "operator activate" or "operator rollback".',
}

async function retryJob(operator: Operator, queue: JobQueue, id: string) {
  const otherwise = RETRIED_OTHERWISE[queue.name]
  if (otherwise !== undefined) throw new OperatorError(otherwise)
  const job = await jobNamed(queue, id)
  const state = await job.getState()
  if (state !== 'failed') throw new OperatorError(`The job is ${state}, not failed: there is nothing to retry.`)
  return withAudit(operator, 'job.retry', async () => {
    await job.retry()
    return [{ queue: queue.name, id }, `job:${id}`, { queue: queue.name }]
  })
}

async function jobNamed(queue: JobQueue, id: string): Promise<Job> {
  const job = await queue.getJob(id)
  if (job === undefined)
    throw new OperatorError(
      `The queue ${queue.name} has no job "${id}": finished jobs are forgotten after a while; ` +
        'see "operator jobs list".',
    )
  return job
}

function described(queue: string, job: Job, state: string) {
  const isFailed = state === 'failed'
  return {
    queue,
    id: job.id ?? '',
    state,
    attempts: job.attemptsMade,
    reason: isFailed ? job.failedReason : null,
    created_at: new Date(job.timestamp),
    failed_at: isFailed && job.finishedOn !== undefined ? new Date(job.finishedOn) : null,
  }
}
