import type { Command } from 'commander'
import { listAudit } from '#core/db/audit.ts'
import { noun } from '#jobs/cli/operator/command.ts'
import { instant, rows, text } from '#jobs/cli/operator/inputs.ts'
import { verb } from '#jobs/cli/operator/session.ts'
import { table } from '#jobs/cli/operator/table.ts'

export function addAudit(program: Command): void {
  const audit = noun(program, 'audit', 'who changed what: list')
  verb(audit, {
    usage: 'list',
    summary: 'list the audit trail, newest first',
    flags: {
      '--actor-is <name>': 'only what this actor did',
      '--action <action>': 'only this action (key.revoke) or noun (key)',
      '--about <text>': 'only rows whose subject or detail holds this, e.g. a name or UUID',
      '--from <when>': 'from this UTC day or instant',
      '--to <when>': 'before this UTC day or instant',
      '--rows <n>': 'show at most so many',
    },
    notes: 'Nobody but the owner of the schema can change or delete a row of it.',
    examples: [
      'audit list --rows 20',
      'audit list --action key --about "Advice Desk"',
      'audit list --from 2026-11-01 --to 2026-12-01 --json',
    ],
    input: {
      actorIs: text.optional(),
      action: text.optional(),
      about: text.optional(),
      from: instant.optional(),
      to: instant.optional(),
      rows,
    },
    variables: {},
    run: async (input, { operator, show }) => {
      const found = await listAudit(operator.database, { ...input, actor: input.actorIs, limit: input.rows })
      show(found, () =>
        table(
          found,
          { at: 'at', actor: 'actor', action: 'action', subject: 'subject', detail: 'detail' },
          'The audit trail has nothing here: widen the filters.',
        ),
      )
    },
  })
}
