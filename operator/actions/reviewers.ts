import { randomUUID } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { createReviewerKey, parsePublicKey, parseSigningKey, signStatement } from '#core/credentials/reviewer-keys.ts'
import type { SigningKey } from '#core/credentials/reviewer-keys.ts'
import { insertReviewer, isSchemaOwner, listReviewers, lockReviewers, retireReviewer } from '#core/db/reviewers.ts'
import type { ReviewerRow } from '#core/db/reviewers.ts'
import { statementText } from '#core/domain/review-statements.ts'
import { foldKey } from '#core/identity/fold.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { REVIEW_BOUNDS } from '#jobs/review/bounds.ts'
import { readRegistry } from '#jobs/review/approvals.ts'
import type { Registry } from '#jobs/review/reviewers.ts'
import { checkedName } from './names.ts'
import { withAudit, type Operator } from './operator.ts'

/** Writes a new private key, readable by its owner only. @returns the public key in PEM. */
export async function writeReviewerKey(path: string): Promise<string> {
  const { privatePem, publicPem } = createReviewerKey()
  await writeNew(path, privatePem, 0o600)
  return publicPem
}

/** @throws OperatorError when there is such a file. */
export async function writeNew(path: string, contents: string, mode = 0o666): Promise<void> {
  await writeFile(path, contents, { flag: 'wx', mode, flush: true }).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST')
      throw new OperatorError(`${path} exists already and is not overwritten: name another file with --out.`)
    throw error
  })
}

/** @throws OperatorError when the file is not an Ed25519 private key. */
export async function readSigningKey(path: string): Promise<SigningKey> {
  const key = parseSigningKey((await readSmallFile(path)).toString('utf8'))
  if (key === undefined)
    throw new OperatorError(
      `${path} is not an unencrypted Ed25519 private key in PEM: make one with "operator reviewers keygen", or sign ` +
        'elsewhere what "operator review statement" writes.',
    )
  return key
}

/** @returns SPKI, DER. @throws OperatorError when the file is not an Ed25519 public key. */
export async function readPublicKey(path: string): Promise<Buffer> {
  const publicKey = parsePublicKey((await readSmallFile(path)).toString('utf8'))
  if (publicKey === undefined)
    throw new OperatorError(
      `${path} is not an Ed25519 public key in PEM, or one for which anybody can sign: save what "operator reviewers keygen" prints.`,
    )
  return publicKey
}

/** @throws OperatorError when there is no such file, or it is larger than a key, a statement or a signature. */
export async function readSmallFile(path: string): Promise<Buffer> {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) throw new OperatorError(`There is no file ${path} that can be read: correct the path.`)
  if (!found.isFile() || found.size > REVIEW_BOUNDS.reviewFileBytesMax)
    throw new OperatorError(
      `${path} is not a file of at most ${REVIEW_BOUNDS.reviewFileBytesMax} bytes: correct the path.`,
    )
  return readFile(path)
}

/** @throws OperatorError unless the key is that of an active reviewer. */
export function reviewerOf(registry: Registry, key: SigningKey): ReviewerRow {
  const reviewer = registry.byPublicKey(key.publicKeyDer)
  if (reviewer === undefined)
    throw new OperatorError('The key belongs to no reviewer: "operator reviewers list" shows whose keys count.')
  return assertActive(reviewer)
}

export function assertActive(reviewer: ReviewerRow): ReviewerRow {
  if (reviewer.retired_at !== null)
    throw new OperatorError(`"${reviewer.name}" is retired and signs no more: another reviewer does.`)
  return reviewer
}

/** The keys by the id of their active reviewer. */
export function signersOf(registry: Registry, keys: readonly SigningKey[]): ReadonlyMap<string, SigningKey> {
  return new Map(keys.map((key) => [reviewerOf(registry, key).id, key] as const))
}

export function signaturesOf(statement: string, signers: ReadonlyMap<string, SigningKey>) {
  return [...signers].map(([reviewer, key]) => ({
    reviewer,
    signature: signStatement(statement, key).toString('base64'),
  }))
}

interface AddReviewer {
  readonly name: string
  /** SPKI, DER. */
  readonly publicKey: Buffer
  readonly login?: string | undefined
  /** Keys of those who endorse; none for the first reviewer. */
  readonly endorsers?: readonly SigningKey[]
}

/**
 * Adds a reviewer. Active reviewers endorse everybody but the first, as many as the strictest policy in force requires,
 * so that fewer cannot make up who is missing.
 */
export async function addReviewer(operator: Operator, input: AddReviewer) {
  const name = checkedName('a reviewer', input.name)
  if (foldKey(name) === '') throw new OperatorError('The name of a reviewer has letters or figures: take another one.')
  const { publicKey: public_key, endorsers: keys = [] } = input
  return withAudit(operator, 'reviewer.add', async (client) => {
    await lockReviewers(client)
    const rows = await listReviewers(client, REVIEW_BOUNDS.reviewersMax)
    if (rows.length === REVIEW_BOUNDS.reviewersMax)
      throw new OperatorError(`There are ${rows.length} reviewers already, which is the most that is supported.`)
    const byOwner = keys.length === 0 && (await isSchemaOwner(client))
    const registry = await readRegistry(client)
    const endorsers = rows.length === 0 || byOwner ? unendorsed(keys) : endorsersOf(registry, keys)
    const [id, login] = [randomUUID(), input.login ?? null]
    const statement = statementText({
      format: 'evidence reviewer 1',
      id,
      name,
      login,
      public_key: public_key.toString('base64'),
      endorsed_by: [...endorsers.keys()],
    })
    const endorsements = signaturesOf(statement, endorsers)
    if (
      !(await insertReviewer(client, { id, name, name_key: foldKey(name), login, public_key, statement, endorsements }))
    )
      throw new OperatorError(
        `The name "${name}" or this key belongs to a reviewer already, who may be retired: take another name, or ` +
          'another key.',
      )
    const names = [...endorsers.keys()].map((endorser) => registry.byId(endorser)?.name ?? endorser)
    const detail = { name, login, endorsed_by: names, without_endorsement: names.length === 0 }
    return [{ id, name, endorsed_by: names }, `reviewer:${id}`, detail]
  })
}

function unendorsed(keys: readonly SigningKey[]): ReadonlyMap<string, SigningKey> {
  if (keys.length > 0) throw new OperatorError('There is no reviewer yet who could endorse the first: leave out --key.')
  return new Map()
}

/** Keys of those who endorse, in the order of their ids. */
function endorsersOf(registry: Registry, keys: readonly SigningKey[]): ReadonlyMap<string, SigningKey> {
  if (registry.active.length === 0)
    throw new OperatorError(
      'No reviewer whose endorsement holds is active: the owner of the schema adds one, with a login of ' +
        'evidence_migration in DATABASE_URL and without --key.',
    )
  if (keys.length === 0)
    throw new OperatorError('An active reviewer endorses every reviewer but the first: add --key with a private key.')
  const endorsers = signersOf(registry, keys)
  if (endorsers.size < registry.endorsersRequired)
    throw new OperatorError(
      `The strictest review policy in force asks for ${registry.endorsersRequired} different reviewers, and ` +
        `${endorsers.size} endorse: add --key for each.`,
    )
  return new Map([...endorsers].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** Retires a reviewer for good. Approvals of this reviewer no longer count. */
export async function retireReviewerNamed(operator: Operator, name: string) {
  return withAudit(operator, 'reviewer.retire', async (client) => {
    await lockReviewers(client)
    const rows = await listReviewers(client, REVIEW_BOUNDS.reviewersMax)
    const reviewer = rows.find((row) => row.name_key === foldKey(name) || row.id === name)
    if (reviewer === undefined)
      throw new OperatorError(`There is no reviewer "${name}": see "operator reviewers list".`)
    if (reviewer.retired_at !== null) throw new OperatorError(`"${reviewer.name}" is retired already.`)
    if (rows.filter((row) => row.retired_at === null).length === 1)
      throw new OperatorError(
        `"${reviewer.name}" is the last active reviewer, without whom nothing can be approved: add another first.`,
      )
    assertEnoughVerified(await readRegistry(client), reviewer)
    const { id, name: retired } = reviewer
    await retireReviewer(client, id)
    return [{ id, name: retired }, `reviewer:${id}`, { name: retired }]
  })
}

/** Postgres counts rows that nobody endorsed too. Fewer reviewers than a policy asks for could not even change it. */
function assertEnoughVerified({ active, byId, endorsersRequired }: Registry, reviewer: ReviewerRow): void {
  if (byId(reviewer.id) === undefined) return
  const left = active.filter(({ id }) => id !== reviewer.id).length
  if (left > 0 && left < endorsersRequired)
    throw new OperatorError(
      `A review policy in force asks for ${endorsersRequired} reviewers, and ${left} would be left: lower it, or add ` +
        'another reviewer first.',
    )
  if (left === 0)
    throw new OperatorError(
      `"${reviewer.name}" is the last active reviewer whose endorsement holds, without whom nothing can be approved: ` +
        'add another first.',
    )
}
