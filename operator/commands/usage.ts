import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { z } from 'zod'
import { OperatorError } from '#core/platform/errors.ts'
import { USAGE_GROUPS, usageReport } from '#core/db/usage.ts'
import { addCommandGroup } from '#operator/command-line/command.ts'
import { instant, rows } from '#operator/command-line/inputs.ts'
import { addDatabaseCommand } from '#operator/command-line/session.ts'
import { table } from '#operator/command-line/table.ts'

const COLUMNS = {
  requests: 'requests',
  charged: 'charged',
  answers: 'answers',
  abstentions: 'abstentions',
  refunds: 'refunds',
  failures: 'failures',
  passages: 'passages',
  response_bytes: 'bytes',
  query_embedding_tokens: 'tokens',
  requests_without_tokens: 'without tokens',
  reader_tokens: 'reader tokens',
} as const

export function addUsage(program: OperatorCommand): void {
  const usage = addCommandGroup(program, 'usage', 'what was used, from the ledger: report')
  addDatabaseCommand(usage, {
    usage: 'report',
    summary: 'sum up the ledger over a time',
    flags: {
      '--by <group>': `${USAGE_GROUPS.join(', ')}; default: client`,
      '--from <when>': 'from this UTC day or instant; default: the start of this UTC month',
      '--to <when>': 'before this UTC day or instant; default: now',
      '--rows <n>': 'show at most so many',
    },
    notes:
      'One ledger row per admitted request, by the time of admission. Answers and abstentions are ' +
      'charged; a refunded request is not.\n' +
      'Tokens are those the embedding provider reported; a dash (JSON null) means that it reported ' +
      'none, and "without tokens" counts the deliveries it left out.',
    examples: ['usage report', 'usage report --by day --from 2026-11-01 --to 2026-12-01 --json'],
    input: {
      by: z.enum(USAGE_GROUPS, `must be one of ${USAGE_GROUPS.join(', ')}`).default('client'),
      from: instant.optional(),
      to: instant.optional(),
      rows,
    },
    variables: {},
    run: async (input, { operator, show }) => {
      const now = new Date()
      const from = input.from ?? new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1))
      const to = input.to ?? now
      if (from >= to) throw new OperatorError('The time span is empty: give a --from before --to.')
      const read = await usageReport(operator.database, input.by, from, to, input.rows + 1)
      const [found, truncated] = [read.slice(0, input.rows), read.length > input.rows]
      const span = `${from.toISOString()} to ${to.toISOString()}`
      const more = truncated ? `\nThere are more rows than these ${found.length}: ask for more with --rows.` : ''
      const empty = 'The ledger has nothing in this time: widen it with --from and --to.'
      show(
        { from, to, by: input.by, rows: found, truncated },
        () => `${span}\n${table(found, { group: input.by, ...COLUMNS }, empty)}${more}`,
      )
    },
  })
}
