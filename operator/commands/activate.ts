import { createSignedStore } from '#core/index/format/store.ts'
import { STORE_SETTINGS } from '#core/index/settings.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { enqueueActivation } from '#jobs/platform/queues.ts'
import {
  assertArtifactOf,
  planActivation,
  planRollback,
  requestActivation,
  requestRollback,
  rollbackInWords,
} from '#operator/actions/activations.ts'
import type { ActivationAsked, ActivationPlan } from '#operator/actions/activations.ts'
import type { Operator } from '#operator/actions/operator.ts'
import type { Commands, Output, Shown } from '#operator/command-line/command.ts'
import { isGiven, option, text, waitSeconds } from '#operator/command-line/inputs.ts'
import { waitForActivation } from '#operator/command-line/wait.ts'
import { withQueues } from '#operator/command-line/queues.ts'
import { change } from '#operator/command-line/verbs.ts'

const { MANIFEST_PUBLIC_KEY, REDIS_URL } = OPERATOR_VARIABLES
const VARIABLES = { ...STORE_SETTINGS, MANIFEST_PUBLIC_KEY, REDIS_URL }
const wait = option('', 'follow it to its end', isGiven)
const HOW =
  'The job worker waits until every live search node has the version loaded, then moves the pointer ' +
  'in one transaction; no request fails meanwhile.\nIt refuses when a file of the version was altered, or when ' +
  'another version became active since this was asked.'

export const commands: Commands = [
  change('activate <version>', 'serve an approved candidate from now on', {
    notes: HOW,
    input: { version: text, wait, waitSeconds },
    variables: VARIABLES,
    async run(input, { operator, config, ...output }) {
      const { version_id: version, replaces, ...plan } = await planActivation(operator, input.version)
      output.note(planInWords(plan))
      await assertArtifactOf(operator, createSignedStore(config), version)
      const asked = await withQueues(config.REDIS_URL, (open) =>
        requestActivation(operator, { version, replaces }, (id) => enqueueActivation(open('activate'), id)),
      )
      return await outcome(operator, output, asked, input)
    },
  }),
  change('rollback <knowledge-base>', 'serve an earlier version again', {
    notes: HOW,
    input: {
      'knowledge-base': text,
      to: option('<version>', 'which; default: the one that "versions history" marks as next'),
      wait,
      waitSeconds,
    },
    variables: VARIABLES,
    async run(input, { operator, config, ...output }) {
      const plan = await planRollback(operator, input['knowledge-base'], input.to)
      output.note(rollbackInWords(plan))
      await assertArtifactOf(operator, createSignedStore(config), plan.target.version_id)
      const asked = await withQueues(config.REDIS_URL, (open) =>
        requestRollback(operator, plan, (id) => enqueueActivation(open('activate'), id)),
      )
      return await outcome(operator, output, asked, input)
    },
  }),
]

async function outcome(
  { database }: Operator,
  { progress }: Output,
  asked: ActivationAsked,
  input: { readonly wait: boolean; readonly waitSeconds: number },
): Promise<Shown> {
  const { id, version_id: version, knowledge_base: base } = asked
  if (!input.wait) {
    const next = `operator versions list --knowledge-base ${base}`
    const sentence = `Asked for version ${version} of "${base}" to become active.\nNext: ${next}`
    return [{ ...asked, state: 'queued', message: null }, sentence]
  }
  const { state, message } = await waitForActivation(database, id, input.waitSeconds, progress)
  return [{ ...asked, state, message }, `Version ${version} of "${base}" is active. ${message ?? ''}`.trimEnd()]
}

/** What the activation changes, who approved it, and what they accepted by name. */
function planInWords({
  changes,
  approved,
  traced,
  knowledge_base: base,
}: Omit<ActivationPlan, 'version_id' | 'replaces'>): string {
  const off = `\nThe public source trace of "${base}" is off: callers cannot look up what this version serves.`
  const names = approved.reviewers.map(({ name }) => `"${name}"`).join(', ')
  const kinds = approved.accepted.map(({ kind, count }) => `${kind} (${count})`).join(', ')
  return `${changes}\nApproved by ${names}${kinds === '' ? '' : `, who accepted ${kinds}`}.${traced ? '' : off}`
}
