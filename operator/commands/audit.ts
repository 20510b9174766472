import { listAudit, readAuditHead } from '#core/db/audit.ts'
import { verifyAudit } from '#operator/actions/verify-audit.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { auditHead, instant, option, rows } from '#operator/command-line/inputs.ts'
import { cell } from '#operator/command-line/table.ts'
import { group, list, verb } from '#operator/command-line/verbs.ts'

const NOTES =
  'The actor is whoever --actor or OPERATOR_ACTOR named. The login is the role that Postgres let in.\n' +
  'Every entry carries a hash over itself and the entry before, so a change shows in "audit verify".'

export const commands: Commands = [
  group('audit', 'who changed what: list, head, verify', [
    list('list', 'list the audit trail, newest first', {
      notes: NOTES,
      examples: [
        'audit list --rows 20',
        'audit list --action key --about "Advice Desk"',
        'audit list --from 2026-11-01 --to 2026-12-01 --json',
      ],
      input: {
        actorIs: option('<name>', 'only what this actor did'),
        action: option('<action>', 'only this action (key.revoke) or addCommandGroup (key)'),
        about: option('<text>', 'only rows whose subject or detail holds this, e.g. a name or UUID'),
        from: option('<when>', 'from this UTC day or instant', instant.optional()),
        to: option('<when>', 'before this UTC day or instant', instant.optional()),
        rows,
      },
      read: async ({ actorIs, rows: limit, ...input }, { database }) =>
        await listAudit(database, { ...input, actor: actorIs, limit }),
      columns: ['seq', 'at', 'actor', 'login', 'action', 'subject', 'detail'],
      empty: 'The audit trail has nothing here: widen the filters.',
    }),
    verb('head', 'print number and hash of the newest entry, to be kept elsewhere', {
      notes: 'Keep it where the owner of the database cannot write. It proves every entry up to it.',
      examples: ['audit head'],
      async run(_input, { database }) {
        const head = await readAuditHead(database)
        return [head, `${head.seq}:${head.hash}`]
      },
    }),
    verb('verify', 'check that no entry was altered, removed, inserted or moved', {
      notes:
        'Without a head that was kept, entries removed from the end show only where a signed review names them.\n' +
        'A broken trail ends the command with 1 and names the first entry that is wrong.',
      examples: ['audit verify', `audit verify --from-head 42:${'5f'.repeat(32)}`],
      input: {
        fromHead: option(
          '<seq:hash>',
          'a head that "audit head" printed earlier; it must still be in the trail',
          auditHead.optional(),
        ),
      },
      async run({ fromHead }, { database, progress }) {
        const { seq: total } = await readAuditHead(database)
        const verified = await verifyAudit(database, fromHead, (entries) =>
          progress.update('entries verified', entries, Math.max(total, entries)),
        )
        const { entries, from, to, head, forged_reviews: forged } = verified
        const ignored = forged.map((id) => `\nReview ${id} is ignored: no verified reviewer signed it.`).join('')
        const found = `${entries} entries from ${cell(from)} to ${cell(to)}, head ${head.seq}:${head.hash}`
        return [verified, `${entries === 0 ? 'The audit trail is empty.' : found}${ignored}`]
      },
    }),
  ]),
]
