import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { z } from 'zod'
import { createSignedStore } from '#core/index/format/store.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { enqueueActivation } from '#jobs/platform/queues.ts'
import { assertArtifactOf, planActivation, requestActivation } from '#operator/actions/activations.ts'
import type { ActivationAsked, ActivationPlan } from '#operator/actions/activations.ts'
import type { Operator } from '#operator/actions/operator.ts'
import { requestRollback, rollbackInWords } from '#operator/actions/rollback.ts'
import type { Output } from '#operator/command-line/command.ts'
import { text, waitSeconds } from '#operator/command-line/inputs.ts'
import { withQueues } from '#operator/command-line/queues.ts'
import { addDatabaseCommand } from '#operator/command-line/session.ts'
import { WAIT_SECONDS_DEFAULT, waitForActivation } from '#operator/command-line/wait.ts'

const { ARTIFACT_STORE, MANIFEST_PUBLIC_KEY, REDIS_URL } = OPERATOR_VARIABLES
const WAIT = {
  '--wait': 'follow it to its end',
  '--wait-seconds <n>': `follow it for at most so long; default ${WAIT_SECONDS_DEFAULT}`,
} as const
const HOW =
  'The job worker waits until every live search node has the version loaded, then moves the pointer ' +
  'in one transaction; no request fails meanwhile.\nIt refuses when a file of the version was altered, or when ' +
  'another version became active since this was asked.'

export function addActivate(program: OperatorCommand): void {
  addDatabaseCommand(program, {
    usage: 'activate <version>',
    summary: 'serve an approved candidate from now on',
    flags: WAIT,
    notes: HOW,
    examples: ['activate 6f1c2a0e-7a38-4f4e-9c7e-0d6f6a2b9a11 --wait'],
    input: { version: text, wait: z.boolean().default(false), waitSeconds },
    variables: { ARTIFACT_STORE, MANIFEST_PUBLIC_KEY, REDIS_URL },
    writes: true,
    run: async (input, { operator, config, ...output }) => {
      const plan = await planActivation(operator, input.version)
      output.note(planInWords(plan))
      await assertArtifactOf(operator, createSignedStore(config), plan.version_id)
      const asked = await withQueues(config.REDIS_URL, (open) =>
        requestActivation(operator, { version: plan.version_id, replaces: plan.replaces }, (id) =>
          enqueueActivation(open('activate'), id),
        ),
      )
      await report(operator, output, asked, input)
    },
  })
  addDatabaseCommand(program, {
    usage: 'rollback <knowledge-base>',
    summary: 'serve an earlier version again',
    flags: {
      '--to <version>': 'which; default: the one that "versions history" marks as next',
      ...WAIT,
    },
    notes: HOW,
    examples: ['rollback hsfa-rules --wait', 'rollback hsfa-rules --to 6f1c2a0e-7a38-4f4e-9c7e-0d6f6a2b9a11 --wait'],
    input: { 'knowledge-base': text, to: text.optional(), wait: z.boolean().default(false), waitSeconds },
    variables: { ARTIFACT_STORE, MANIFEST_PUBLIC_KEY, REDIS_URL },
    writes: true,
    run: async (input, { operator, config, ...output }) => {
      const wanted = { knowledgeBase: input['knowledge-base'], to: input.to }
      const asked = await withQueues(config.REDIS_URL, (open) =>
        requestRollback(
          operator,
          wanted,
          (id) => enqueueActivation(open('activate'), id),
          async (plan) => {
            output.note(rollbackInWords(plan))
            await assertArtifactOf(operator, createSignedStore(config), plan.version_id)
          },
        ),
      )
      await report(operator, output, asked, input)
    },
  })
}

async function report(
  operator: Operator,
  { show, progress }: Output,
  asked: ActivationAsked,
  input: { readonly wait: boolean; readonly waitSeconds: number },
): Promise<void> {
  if (!input.wait)
    return show(
      { ...asked, state: 'queued', message: null },
      () =>
        `Asked for version ${asked.version_id} of "${asked.knowledge_base}" to become active.\nNext: ` +
        `operator versions list --knowledge-base ${asked.knowledge_base}`,
    )
  const { state, message } = await waitForActivation(operator.database, asked.id, input.waitSeconds, progress)
  show({ ...asked, state, message }, () =>
    `Version ${asked.version_id} of "${asked.knowledge_base}" is active. ${message ?? ''}`.trimEnd(),
  )
}

/** What the activation changes, who approved it, and what they accepted by name. */
function planInWords({ changes, approved: { reviewers, accepted } }: ActivationPlan): string {
  const names = reviewers.map(({ name }) => `"${name}"`).join(', ')
  const kinds = accepted.map(({ kind, count }) => `${kind} (${count})`).join(', ')
  return `${changes}\nApproved by ${names}${kinds === '' ? '' : `, who accepted ${kinds}`}.`
}
