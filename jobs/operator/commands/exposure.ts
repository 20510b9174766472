import type { OperatorCommand } from '#jobs/operator/operator-command.ts'
import { exposureOf, releaseExposure } from '#jobs/operator/actions/exposure.ts'
import { knowledgeBaseNamed, organizationNamed } from '#jobs/operator/actions/names.ts'
import { addCommandGroup } from '#jobs/operator/command.ts'
import { rows, text } from '#jobs/operator/inputs.ts'
import { addDatabaseCommand } from '#jobs/operator/session.ts'
import { table } from '#jobs/operator/table.ts'

const ABOUT =
  'Distinct passages served to one organization from one knowledge base, over the rolling window of ' +
  'the plan. Past the soft mark the rate tightens, past the hard mark serving stops.'

export function addExposure(program: OperatorCommand): void {
  const exposure = addCommandGroup(program, 'exposure', 'how much of a corpus was extracted: show, release')
  addDatabaseCommand(exposure, {
    usage: 'show',
    summary: 'show distinct passages served against the marks',
    flags: {
      '--organization <organization>': 'only one',
      '--knowledge-base <slug>': 'only one',
      '--rows <n>': 'show at most so many',
    },
    notes: ABOUT,
    examples: ['exposure show', 'exposure show --organization "Harbour Bank"'],
    input: { organization: text.optional(), knowledgeBase: text.optional(), rows },
    variables: {},
    run: async (input, { operator, show }) => {
      const organization =
        input.organization === undefined ? null : (await organizationNamed(operator.database, input.organization)).id
      const base =
        input.knowledgeBase === undefined ? null : (await knowledgeBaseNamed(operator.database, input.knowledgeBase)).id
      const found = await exposureOf(operator.database, organization, base, input.rows)
      const columns = {
        organization: 'organization',
        knowledge_base: 'knowledge base',
        plan: 'plan',
        window_days: 'days',
        distinct_passages: 'passages',
        soft_mark: 'soft mark',
        hard_mark: 'hard mark',
        state: 'state',
        released_at: 'released',
      }
      show(found, () => table(found, columns, 'There is no entitlement here, so nothing can have been served.'))
    },
  })
  addDatabaseCommand(exposure, {
    usage: 'release <organization>',
    summary: 'decide that what was served so far no longer counts',
    flags: { '--knowledge-base <slug>': 'slug or UUID', '--note <text>': 'why; kept in the audit trail' },
    notes: `${ABOUT}\nThe counters are rebuilt within 5 s, with the next request; rate, day and month are not touched.`,
    examples: ['exposure release "Harbour Bank" --knowledge-base hsfa-rules --note "agreed bulk review, ticket 118"'],
    input: { organization: text, knowledgeBase: text, note: text },
    variables: {},
    writes: true,
    run: async (input, { operator, show }) => {
      const released = await releaseExposure(operator, input)
      show(
        released,
        () =>
          `Released "${released.organization}" on "${released.knowledge_base}": what was served ` +
          'until now no longer counts.',
      )
    },
  })
}
