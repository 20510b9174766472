import { z } from 'zod'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { QUEUES } from '#jobs/platform/queues.ts'
import { queueStates, retryJob, showJob } from '#operator/actions/jobs.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { text } from '#operator/command-line/inputs.ts'
import { withQueues } from '#operator/command-line/queues.ts'
import { fields, table } from '#operator/command-line/table.ts'
import { change, group, verb } from '#operator/command-line/verbs.ts'

const { REDIS_URL } = OPERATOR_VARIABLES
const queue = z.enum(QUEUES, `must be one of ${QUEUES.join(', ')}`)

export const commands: Commands = [
  group('jobs', 'the queues of the job worker: list, show, retry', [
    verb('list', 'count the jobs of every queue and list those that failed, with their reasons', {
      notes:
        'A job holds only the id of a row in Postgres, which is the source of truth. A lost job is ' +
        'enqueued again within seconds.',
      examples: ['jobs list', 'jobs list --json'],
      variables: { REDIS_URL },
      async run(_input, { config }) {
        const found = await withQueues(config.REDIS_URL, queueStates)
        const states = ['queue', 'waiting', 'active', 'delayed', 'failed', 'completed', 'workers'] as const
        const columns = ['queue', ['id', 'job'], 'failed_at', 'attempts', 'reason'] as const
        return [found, `${table(found.queues, states)}\n\n${table(found.failed, columns, 'No job has failed.')}`]
      },
    }),
    verb('show <queue> <job>', 'show one job', {
      examples: ['jobs show build 6f1c2a0e-7a38-4f4e-9c7e-0d6f6a2b9a11'],
      input: { queue, job: text },
      variables: { REDIS_URL },
      async run(input, { config }) {
        const job = await withQueues(config.REDIS_URL, (open) => showJob(open(input.queue), input.job))
        return [job, fields(job)]
      },
    }),
    change('retry <queue> <job>', 'run a failed job of the ledger or of maintenance again', {
      notes: 'A failed build is run again by "build retry"; an activation is asked for again by "activate".',
      examples: ['jobs retry maintenance 6f1c2a0e-7a38-4f4e-9c7e-0d6f6a2b9a11'],
      input: { queue, job: text },
      variables: { REDIS_URL },
      async run(input, { operator, config }) {
        const retried = await withQueues(config.REDIS_URL, (open) => retryJob(operator, open(input.queue), input.job))
        return [retried, `Job ${retried.id} of queue ${retried.queue} waits to run again.`]
      },
    }),
  ]),
]
