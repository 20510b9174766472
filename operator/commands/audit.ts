import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { listAudit, readAuditHead } from '#core/db/audit.ts'
import { verifyAudit } from '#operator/actions/verify-audit.ts'
import { addCommandGroup } from '#operator/command-line/command.ts'
import { auditHead, instant, rows, text } from '#operator/command-line/inputs.ts'
import { addDatabaseCommand } from '#operator/command-line/session.ts'
import { cell, table } from '#operator/command-line/table.ts'

const NOTES =
  'The actor is whoever --actor or OPERATOR_ACTOR named. The login is the role that Postgres let in.\n' +
  'Every entry carries a hash over itself and the entry before, so a change shows in "audit verify".'

export function addAudit(program: OperatorCommand): void {
  const audit = addCommandGroup(program, 'audit', 'who changed what: list, head, verify')
  addList(audit)
  addHead(audit)
  addVerify(audit)
}

function addList(audit: OperatorCommand): void {
  addDatabaseCommand(audit, {
    usage: 'list',
    summary: 'list the audit trail, newest first',
    flags: {
      '--actor-is <name>': 'only what this actor did',
      '--action <action>': 'only this action (key.revoke) or addCommandGroup (key)',
      '--about <text>': 'only rows whose subject or detail holds this, e.g. a name or UUID',
      '--from <when>': 'from this UTC day or instant',
      '--to <when>': 'before this UTC day or instant',
      '--rows <n>': 'show at most so many',
    },
    notes: NOTES,
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
          {
            seq: 'seq',
            at: 'at',
            actor: 'actor',
            login: 'login',
            action: 'action',
            subject: 'subject',
            detail: 'detail',
          },
          'The audit trail has nothing here: widen the filters.',
        ),
      )
    },
  })
}

function addHead(audit: OperatorCommand): void {
  addDatabaseCommand(audit, {
    usage: 'head',
    summary: 'print number and hash of the newest entry, to be kept elsewhere',
    notes: 'Keep it where the owner of the database cannot write. It proves every entry up to it.',
    examples: ['audit head'],
    input: {},
    variables: {},
    run: async (_input, { operator, show }) => {
      const head = await readAuditHead(operator.database)
      show(head, () => `${head.seq}:${head.hash}`)
    },
  })
}

function addVerify(audit: OperatorCommand): void {
  addDatabaseCommand(audit, {
    usage: 'verify',
    summary: 'check that no entry was altered, removed, inserted or moved',
    flags: { '--from-head <seq:hash>': 'a head that "audit head" printed earlier; it must still be in the trail' },
    notes:
      'Without a head that was kept, entries removed from the end show only where a signed review names them.\n' +
      'A broken trail ends the command with 1 and names the first entry that is wrong.',
    examples: ['audit verify', `audit verify --from-head 42:${'5f'.repeat(32)}`],
    input: { fromHead: auditHead.optional() },
    variables: {},
    run: async (input, { operator, show, progress }) => {
      const { seq: total } = await readAuditHead(operator.database)
      const verified = await verifyAudit(operator.database, input.fromHead, (entries) =>
        progress.update('entries verified', entries, Math.max(total, entries)),
      )
      const { entries, from, to, head, forged_reviews: forged } = verified
      const ignored = forged.map((id) => `\nReview ${id} is ignored: no verified reviewer signed it.`).join('')
      const found = `${entries} entries from ${cell(from)} to ${cell(to)}, head ${head.seq}:${head.hash}`
      show(verified, () => `${entries === 0 ? 'The audit trail is empty.' : found}${ignored}`)
    },
  })
}
