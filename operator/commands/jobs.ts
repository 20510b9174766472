import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { z } from 'zod'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { QUEUES } from '#jobs/platform/queues.ts'
import { queueStates, retryJob, showJob } from '#operator/actions/jobs.ts'
import { addCommandGroup } from '#operator/command-line/command.ts'
import { text } from '#operator/command-line/inputs.ts'
import { withQueues } from '#operator/command-line/queues.ts'
import { addDatabaseCommand } from '#operator/command-line/session.ts'
import { fields, table } from '#operator/command-line/table.ts'

const { REDIS_URL } = OPERATOR_VARIABLES
const queue = z.enum(QUEUES, `must be one of ${QUEUES.join(', ')}`)

export function addJobs(program: OperatorCommand): void {
  const jobs = addCommandGroup(program, 'jobs', 'the queues of the job worker: list, show, retry')
  addDatabaseCommand(jobs, {
    usage: 'list',
    summary: 'count the jobs of every queue and list those that failed, with their reasons',
    notes:
      'A job holds only the id of a row in Postgres, which is the source of truth. A lost job is ' +
      'enqueued again within seconds.',
    examples: ['jobs list', 'jobs list --json'],
    input: {},
    variables: { REDIS_URL },
    run: async (_input, { config, show }) => {
      const found = await withQueues(config.REDIS_URL, queueStates)
      show(found, () => {
        const counts = table(
          found.queues,
          {
            queue: 'queue',
            waiting: 'waiting',
            active: 'active',
            delayed: 'delayed',
            failed: 'failed',
            completed: 'completed',
            workers: 'workers',
          },
          '',
        )
        const columns = { queue: 'queue', id: 'job', failed_at: 'failed', attempts: 'attempts', reason: 'reason' }
        return `${counts}\n\n${table(found.failed, columns, 'No job has failed.')}`
      })
    },
  })
  addDatabaseCommand(jobs, {
    usage: 'show <queue> <job>',
    summary: 'show one job',
    examples: ['jobs show build 6f1c2a0e-7a38-4f4e-9c7e-0d6f6a2b9a11'],
    input: { queue, job: text },
    variables: { REDIS_URL },
    run: async (input, { config, show }) => {
      const job = await withQueues(config.REDIS_URL, (open) => showJob(open(input.queue), input.job))
      show(job, () => fields(job))
    },
  })
  addDatabaseCommand(jobs, {
    usage: 'retry <queue> <job>',
    summary: 'run a failed job of the ledger or of maintenance again',
    notes: 'A failed build is run again by "build retry"; an activation is asked for again by "activate".',
    examples: ['jobs retry maintenance 6f1c2a0e-7a38-4f4e-9c7e-0d6f6a2b9a11'],
    input: { queue, job: text },
    variables: { REDIS_URL },
    writes: true,
    run: async (input, { operator, config, show }) => {
      const retried = await withQueues(config.REDIS_URL, (open) => retryJob(operator, open(input.queue), input.job))
      show(retried, () => `Job ${retried.id} of queue ${retried.queue} waits to run again.`)
    },
  })
}
