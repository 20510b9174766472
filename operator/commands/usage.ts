import { z } from 'zod'
import { USAGE_GROUPS, usageReports } from '#core/db/usage.ts'
import { OperatorError } from '#core/platform/errors.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { instant, option, rows } from '#operator/command-line/inputs.ts'
import { table } from '#operator/command-line/table.ts'
import { group, verb } from '#operator/command-line/verbs.ts'

const GROUPS = USAGE_GROUPS.join(', ')
const COUNTS = 'requests charged answers abstentions refunds failures passages response_bytes=bytes'
const TOKENS = 'query_embedding_tokens=tokens requests_without_tokens=without_tokens rewriting_tokens reader_tokens'

export const commands: Commands = [
  group('usage', 'what was used, from the ledger: report', [
    verb('report', 'sum up the ledger over a time', {
      notes:
        'One ledger row per admitted request, by the time of admission. Answers and abstentions are ' +
        'charged; a refunded request is not.\n' +
        'Tokens are those the embedding provider reported; a dash (JSON null) means that it reported ' +
        'none, and "without tokens" counts the deliveries it left out.',
      input: {
        by: option(
          '<group>',
          `${GROUPS}; default: client`,
          z.enum(USAGE_GROUPS, `must be one of ${GROUPS}`).default('client'),
        ),
        from: option(
          '<when>',
          'from this UTC day or instant; default: the start of this UTC month',
          instant.optional(),
        ),
        to: option('<when>', 'before this UTC day or instant; default: now', instant.optional()),
        rows,
      },
      async run({ by, rows: limit, ...input }, { database }) {
        const now = new Date()
        const { from = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)), to = now } = input
        if (from >= to) throw new OperatorError('The time span is empty: give a --from before --to.')
        const read = await usageReports[by](database, from, to, limit + 1)
        const [found, truncated] = [read.slice(0, limit), read.length > limit]
        const more = truncated ? `\nThere are more rows than these ${found.length}: ask for more with --rows.` : ''
        const empty = 'The ledger has nothing in this time: widen it with --from and --to.'
        const shown = table(found, `group=${by} ${COUNTS} ${TOKENS}`, empty)
        const span = `${from.toISOString()} to ${to.toISOString()}`
        return [{ from, to, by, rows: found, truncated }, `${span}\n${shown}${more}`]
      },
    }),
  ]),
]
