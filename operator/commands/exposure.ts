import { exposureOf, raiseExposure, releaseExposure } from '#operator/actions/exposure.ts'
import { idOf, knowledgeBaseNamed, organizationNamed } from '#operator/actions/names.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { environment, instant, option, rows, text, whole } from '#operator/command-line/inputs.ts'
import { change, group, list } from '#operator/command-line/verbs.ts'

const ABOUT =
  'New passages served to one organization from one knowledge base in one environment. Some are forgotten with each\n' +
  'UTC day. From the soft mark on the rate is a fifth. From the hard mark on serving stops, of the knowledge base\n' +
  'or of the document whose mark it is.'
const MARKS = 'soft_mark hard_mark daily raised state access_grows_at=grows stopped_documents released_at'
const PASSAGES_MAX = 1_000_000_000
const subject = {
  organization: text,
  knowledgeBase: option('<slug>', 'slug or UUID', text),
  environment: option('<environment>', 'test or live; default: live', environment.default('live')),
  note: option('<text>', 'why; kept in the audit trail', text),
}

export const commands: Commands = [
  group('exposure', 'how much of a corpus was extracted: show, raise, release', [
    list('show', 'show new passages served against the marks', {
      notes: ABOUT,
      input: {
        organization: option('<organization>', 'only one'),
        knowledgeBase: option('<slug>', 'only one'),
        environment: option('<environment>', 'only test or live', environment.optional()),
        rows,
      },
      async read(input, { database }) {
        const scope = {
          organizationId: await idOf(organizationNamed, database, input.organization),
          knowledgeBaseId: await idOf(knowledgeBaseNamed, database, input.knowledgeBase),
          environment: input.environment ?? null,
        }
        return await exposureOf(database, scope, input.rows)
      },
      columns: `organization knowledge_base environment plan exposure=passages ${MARKS}`,
      empty: 'There is no entitlement here, so nothing can have been served.',
    }),
    change(
      'raise <organization>',
      'allow more passages than the plan, of the corpus and of each document, until a day',
      {
        notes: `${ABOUT}\nSeveral raises add up. Gateways follow within 5 s.`,
        input: {
          ...subject,
          passages: option('<n>', 'how many more', whole(1, PASSAGES_MAX)),
          until: option('<instant>', 'when the raise ends, e.g. 2027-01-31', instant),
        },
        async run(input, { operator }) {
          const raised = await raiseExposure(operator, input)
          const more = `${input.passages} more passages until ${input.until.toISOString()}.`
          return [raised, `Raised ${named(raised)}: ${more}`]
        },
      },
    ),
    change('release <organization>', 'decide that what was served so far no longer counts', {
      notes: `${ABOUT}\nThe counters are rebuilt within 5 s, with the next request; rate, day and month are not touched.`,
      input: subject,
      async run(input, { operator }) {
        const released = await releaseExposure(operator, input)
        return [released, `Released ${named(released)}: what was served until now no longer counts.`]
      },
    }),
  ]),
]

function named(decided: Awaited<ReturnType<typeof releaseExposure>>): string {
  return `"${decided.organization}" on "${decided.knowledge_base}" (${decided.environment})`
}
