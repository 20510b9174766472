import {
  listAudit,
  readAuditHead,
  EMPTY_AUDIT_HEAD,
  chainFault,
  readAuditChain,
  readAuditHashes,
} from '#core/db/audit.ts'
import type { AuditHead } from '#core/db/audit.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { auditHead, instant, option, rows } from '#operator/command-line/inputs.ts'
import { cell, table } from '#operator/command-line/table.ts'
import { group, verb } from '#operator/command-line/verbs.ts'
import type { Queryable } from '#core/db/pool.ts'
import { readClaimedReviews } from '#core/db/reviews.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { REVIEW_BOUNDS } from '#jobs/review/bounds.ts'
import { readRegistry } from '#jobs/review/approvals.ts'
import { signedStatement } from '#jobs/review/rejections.ts'

const NOTES =
  'The actor is whoever --actor or OPERATOR_ACTOR named. The login is the role that Postgres let in.\n' +
  'Every entry carries a hash over itself and the entry before, so a change shows in "audit verify".'

export const commands: Commands = [
  group('audit', 'who changed what: list, head, verify', [
    verb('list', 'list the audit trail, newest first', {
      notes: NOTES,
      input: {
        actorIs: option('<name>', 'only what this actor did'),
        action: option('<action>', 'only this action (key.revoke) or addCommandGroup (key)'),
        about: option('<text>', 'only rows whose subject or detail holds this, e.g. a name or UUID'),
        from: option('<when>', 'from this UTC day or instant', instant.optional()),
        to: option('<when>', 'before this UTC day or instant', instant.optional()),
        rows,
      },
      async run({ actorIs, rows: limit, ...input }, { database }) {
        const found = await listAudit(database, { ...input, actor: actorIs, limit })
        const lines = found.map((row) => ({ ...row, detail: inShort(row.detail) }))
        const columns = 'seq at actor login action subject detail'
        return [found, () => table(lines, columns, 'The audit trail has nothing here: widen the filters.')]
      },
    }),
    verb('head', 'print number and hash of the newest entry, to be kept elsewhere', {
      notes: 'Keep it where the owner of the database cannot write. It proves every entry up to it.',
      async run(_input, { database }) {
        const head = await readAuditHead(database)
        return [head, `${head.seq}:${head.hash}`]
      },
    }),
    verb('verify', 'check that no entry was altered, removed, inserted or moved', {
      notes:
        'Without a head that was kept, entries removed from the end show only where a signed review names them.\n' +
        'A broken trail ends the command with 1 and names the first entry that is wrong.',
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

const DETAIL_CHARACTERS_MAX = 60

/** The first facts of a detail; `--json` has them all. */
function inShort(detail: Readonly<Record<string, unknown>>): string {
  const facts = Object.entries(detail).map(([name, value]) => `${name} ${cell(value)}`)
  const line = facts.join(', ')
  return line.length > DETAIL_CHARACTERS_MAX ? `${line.slice(0, DETAIL_CHARACTERS_MAX - 1)}…` : line
}

interface KeptHead extends AuditHead {
  /** Where it is kept, as the subject of a sentence. */
  readonly kept: string
}

/**
 * Recomputes the hash of every entry, and looks up every head that was kept outside the trail. Without such a head,
 * entries removed from the end cannot be noticed.
 * @param onProgress gets the number of entries read so far.
 * @throws OperatorError naming the first entry that is broken.
 * @returns times of the first and the last `entry`, null for an empty trail; `heads_found`: heads that were kept outside
 * the trail and are in it; `forged_reviews`: the first ones that no verified reviewer signed, which prove nothing and do
 * not break the chain.
 */
export async function verifyAudit(
  database: Queryable,
  fromHead: AuditHead | undefined,
  onProgress: (entries: number) => void = () => undefined,
) {
  let head = EMPTY_AUDIT_HEAD
  let from: Date | null = null
  let to: Date | null = null
  for await (const batch of readAuditChain(database)) {
    for (const entry of batch) {
      const fault = chainFault(head, entry)
      if (fault !== undefined) throw broken(fault)
      head = { seq: entry.seq, hash: entry.hash }
      from ??= entry.at
      to = entry.at
    }
    onProgress(head.seq)
  }
  const given: readonly KeptHead[] = fromHead === undefined ? [] : [{ ...fromHead, kept: 'The head given' }]
  await assertInTrail(database, given)
  let found = given.length
  const registry = await readRegistry(database)
  const forged: string[] = []
  for await (const batch of readClaimedReviews(database, null)) {
    const kept: KeptHead[] = []
    for (const claim of batch) {
      const statement = signedStatement(claim, registry)
      if (statement === undefined) {
        if (forged.length < REVIEW_BOUNDS.forgedReviewsNamedMax) forged.push(claim.id)
      } else if (statement.audit_head !== null) kept.push({ ...statement.audit_head, kept: `Review ${claim.id}` })
    }
    await assertInTrail(database, kept)
    found += kept.length
  }
  return { entries: head.seq, from, to, head, heads_found: found, forged_reviews: forged }
}

async function assertInTrail(database: Queryable, heads: readonly KeptHead[]): Promise<void> {
  const hashes = await readAuditHashes(
    database,
    heads.map(({ seq }) => seq),
  )
  for (const { seq, hash, kept } of heads) {
    const recorded = seq === 0 ? EMPTY_AUDIT_HEAD.hash : hashes.get(seq)
    if (recorded === undefined) throw broken(`${kept} names entry ${seq}, which was removed from the end of the trail.`)
    if (recorded !== hash)
      throw broken(`${kept} names another hash of entry ${seq}: the trail was rewritten up to that entry.`)
  }
}

function broken(fault: string): OperatorError {
  return new OperatorError(
    `${fault} The audit trail is broken: compare it with a backup, and find out who used the rights of the ` +
      "schema's owner.",
  )
}
