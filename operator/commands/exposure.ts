import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { exposureOf, raiseExposure, releaseExposure } from '#operator/actions/exposure.ts'
import { knowledgeBaseNamed, organizationNamed } from '#operator/actions/names.ts'
import { addCommandGroup } from '#operator/command-line/command.ts'
import { environment, instant, rows, text, whole } from '#operator/command-line/inputs.ts'
import { addDatabaseCommand } from '#operator/command-line/session.ts'
import { table } from '#operator/command-line/table.ts'

const ABOUT =
  'New passages served to one organization from one knowledge base in one environment. Some are forgotten with each\n' +
  'UTC day. From the soft mark on the rate is a fifth. From the hard mark on serving stops, of the knowledge base\n' +
  'or of the document whose mark it is.'
const PASSAGES_MAX = 1_000_000_000
const SUBJECT = {
  '--knowledge-base <slug>': 'slug or UUID',
  '--environment <environment>': 'test or live; default: live',
  '--note <text>': 'why; kept in the audit trail',
}
const subject = {
  organization: text,
  knowledgeBase: text,
  environment: environment.default('live'),
  note: text,
}

export function addExposure(program: OperatorCommand): void {
  const exposure = addCommandGroup(program, 'exposure', 'how much of a corpus was extracted: show, raise, release')
  addShow(exposure)
  addDatabaseCommand(exposure, {
    usage: 'raise <organization>',
    summary: 'allow more passages than the plan, of the corpus and of each document, until a day',
    flags: {
      ...SUBJECT,
      '--passages <n>': 'how many more',
      '--until <instant>': 'when the raise ends, e.g. 2027-01-31',
    },
    notes: `${ABOUT}\nSeveral raises add up. Gateways follow within 5 s.`,
    examples: [
      'exposure raise "Harbour Bank" --knowledge-base hsfa-rules --passages 500 --until 2099-01-31 --note "ticket 118"',
    ],
    input: { ...subject, passages: whole(1, PASSAGES_MAX), until: instant },
    variables: {},
    writes: true,
    run: async (input, { operator, show }) => {
      const raised = await raiseExposure(operator, input)
      show(
        raised,
        () =>
          `Raised "${raised.organization}" on "${raised.knowledge_base}" (${raised.environment}): ` +
          `${input.passages} more passages until ${input.until.toISOString()}.`,
      )
    },
  })
  addDatabaseCommand(exposure, {
    usage: 'release <organization>',
    summary: 'decide that what was served so far no longer counts',
    flags: SUBJECT,
    notes: `${ABOUT}\nThe counters are rebuilt within 5 s, with the next request; rate, day and month are not touched.`,
    examples: ['exposure release "Harbour Bank" --knowledge-base hsfa-rules --note "agreed bulk review, ticket 118"'],
    input: subject,
    variables: {},
    writes: true,
    run: async (input, { operator, show }) => {
      const released = await releaseExposure(operator, input)
      show(
        released,
        () =>
          `Released "${released.organization}" on "${released.knowledge_base}" (${released.environment}): what was ` +
          'served until now no longer counts.',
      )
    },
  })
}

function addShow(exposure: OperatorCommand): void {
  addDatabaseCommand(exposure, {
    usage: 'show',
    summary: 'show new passages served against the marks',
    flags: {
      '--organization <organization>': 'only one',
      '--knowledge-base <slug>': 'only one',
      '--environment <environment>': 'only test or live',
      '--rows <n>': 'show at most so many',
    },
    notes: ABOUT,
    examples: ['exposure show', 'exposure show --organization "Harbour Bank"'],
    input: {
      organization: text.optional(),
      knowledgeBase: text.optional(),
      environment: environment.optional(),
      rows,
    },
    variables: {},
    run: async (input, { operator, show }) => {
      const organization =
        input.organization === undefined ? null : (await organizationNamed(operator.database, input.organization)).id
      const base =
        input.knowledgeBase === undefined ? null : (await knowledgeBaseNamed(operator.database, input.knowledgeBase)).id
      const scope = { organizationId: organization, knowledgeBaseId: base, environment: input.environment ?? null }
      const found = await exposureOf(operator.database, scope, input.rows)
      const columns = {
        organization: 'organization',
        knowledge_base: 'knowledge base',
        environment: 'environment',
        plan: 'plan',
        exposure: 'passages',
        soft_mark: 'soft mark',
        hard_mark: 'hard mark',
        daily: 'daily',
        raised: 'raised',
        state: 'state',
        access_grows_at: 'grows',
        stopped_documents: 'stopped documents',
        released_at: 'released',
      }
      show(found, () => table(found, columns, 'There is no entitlement here, so nothing can have been served.'))
    },
  })
}
