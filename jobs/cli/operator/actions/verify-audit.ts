import { statementSignatureHolds } from '#core/credentials/reviewer-keys.ts'
import { EMPTY_AUDIT_HEAD } from '#core/db/audit.ts'
import type { AuditHead } from '#core/db/audit.ts'
import { chainFault, readAuditChain, readAuditHashes, readSignedStatements } from '#core/db/audit-chain.ts'
import type { SignedStatement } from '#core/db/audit-chain.ts'
import type { Queryable } from '#core/db/pool.ts'
import { parseStatement, reviewStatementSchema } from '#core/domain/review-statements.ts'
import type { ReviewStatement } from '#core/domain/review-statements.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { readRegistry } from '#jobs/review/approvals.ts'
import type { Registry } from '#jobs/review/reviewers.ts'

export interface AuditVerified {
  readonly entries: number
  /** Times of the first and the last entry; null for an empty trail. */
  readonly from: Date | null
  readonly to: Date | null
  readonly head: AuditHead
  /** Heads that were kept outside the trail and are in it: the one given, and those of signed reviews. */
  readonly heads_found: number
  /** The first reviews that no verified reviewer signed. They prove nothing and do not break the chain. */
  readonly forged_reviews: readonly string[]
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
 */
export async function verifyAudit(
  database: Queryable,
  fromHead: AuditHead | undefined,
  onProgress: (entries: number) => void = () => undefined,
): Promise<AuditVerified> {
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
  for await (const batch of readSignedStatements(database)) {
    const signed = batch.flatMap((row) => signedStatement(row, registry) ?? [])
    const kept = signed.flatMap(({ id, audit_head }) => (audit_head ? [{ ...audit_head, kept: `Review ${id}` }] : []))
    await assertInTrail(database, kept)
    found += kept.length
    const holding = new Set(signed.map(({ id }) => id))
    const others = batch.filter(({ id }) => !holding.has(id)).map(({ id }) => id)
    forged.push(...others.slice(0, BOUNDS.forgedReviewsNamedMax - forged.length))
  }
  return { entries: head.seq, from, to, head, heads_found: found, forged_reviews: forged }
}

/** What a verified reviewer signed; anybody who can insert a review can forge the rest, so it proves nothing. */
function signedStatement(
  { id, reviewer_id, statement, signature }: SignedStatement,
  registry: Registry,
): { readonly id: string; readonly audit_head: AuditHead | null } | undefined {
  const parsed = parseStatement<ReviewStatement>(reviewStatementSchema, statement)
  const reviewer = registry.byId(reviewer_id)
  const holds =
    parsed !== undefined &&
    reviewer?.id === parsed.reviewer.id &&
    statementSignatureHolds(statement, signature, reviewer.public_key)
  return holds ? { id, audit_head: parsed.audit_head } : undefined
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
