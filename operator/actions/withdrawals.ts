import { randomUUID } from 'node:crypto'
import type { SigningKey } from '#core/credentials/reviewer-keys.ts'
import type { Queryable } from '#core/db/pool.ts'
import type { StatementSignature } from '#core/db/review-policies.ts'
import { lockReviewers } from '#core/db/reviewers.ts'
import { insertWithdrawal, listWithdrawals, restoreWithdrawal, withdrawalsInForce } from '#core/db/withdrawals.ts'
import type { WithdrawalRow } from '#core/db/withdrawals.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { statementText } from '#core/domain/review-statements.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { sha256 } from '#core/platform/digest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { PART, lawUnderOtherIds, readLaw } from '#jobs/platform/withdrawn-law.ts'
import { readRegistry, readReviewRules } from '#jobs/review/approvals.ts'
import { type Registry, signersOf as countSigners } from '#jobs/review/reviewers.ts'
import { idOf, knowledgeBaseNamed, versionNamed, withdrawalNamed } from './names.ts'
import { withAudit, type Operator } from './operator.ts'
import { signaturesOf, signersOf } from './reviewers.ts'
import { join } from 'node:path'
import type { VersionRow } from '#core/db/versions.ts'
import { foldKey } from '#core/identity/fold.ts'
import { passagesIn } from '#core/index/passages/records.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { canonicalReference, createActAliases, referencesIn } from '#law/citations/parser.ts'
import { openReferencesReader } from '#core/index/references/reader.ts'

export interface WithdrawInput {
  readonly knowledgeBase: string
  /** A passage, a provision or a document, as `findTarget` takes it. */
  readonly what: string
  /** Undefined: a provision is looked for in every document. */
  readonly document?: string | undefined
  /** Where it is looked for; undefined: in the active version. */
  readonly version?: string | undefined
  readonly reason: string
  /** Reviewers state that it is other law than what is withdrawn: the withdrawal ends at once. */
  readonly otherLaw?: boolean
}

/**
 * Takes a passage, a provision or a document out of service. It is in force on every gateway within five seconds, in
 * each version that did not decide about it.
 */
export async function withdraw(operator: Operator, store: ArtifactStore, input: WithdrawInput, keys: SigningKey[]) {
  const base = await knowledgeBaseNamed(operator.database, input.knowledgeBase)
  const version = await versionToSearch(operator.database, base, input.version)
  const { passages, ...target } = await findTarget(store, version, input)
  const id = randomUUID()
  const { reason, otherLaw } = input
  const action = otherLaw ? 'withdrawal.other_law' : 'withdrawal.begin'
  const begun = await withAudit(operator, action, async (client) => {
    await lockReviewers(client)
    if (!otherLaw) await assertRoom(client, base)
    const knowledge_base = { id: base.id, slug: base.slug }
    const statement = statementText({ format: 'evidence withdrawal 1', id, knowledge_base, ...target, reason })
    const { signatures } = await signed(client, base.id, statement, keys)
    const row = { ...target, id, knowledge_base_id: base.id, document_id: target.document, reason }
    await insertWithdrawal(client, { ...row, statement, signatures })
    if (otherLaw) await end(client, await withdrawalNamed(client, id), reason, keys)
    const { shown, detail } = await described(client, id)
    return [{ ...shown, passages }, `withdrawal:${id}`, { ...detail, passages }]
  })
  const law = await readLaw(operator.database, store, base.id, { id, version: version.id })
  const others = law.map((one) => one.id).filter((other) => other !== id)
  const active = base.active_version_id ?? version.id
  return { ...begun, also_served: await lawUnderOtherIds(law, await store.fetch(store.artifactFolder(active)), others) }
}

/** Ends a withdrawal at once: what the versions hold is served again. */
export async function restore(operator: Operator, withdrawal: string, reason: string, keys: readonly SigningKey[]) {
  return withAudit(operator, 'withdrawal.restore', async (client) => {
    await lockReviewers(client)
    const row = await withdrawalNamed(client, withdrawal)
    const names = await end(client, row, reason, keys)
    const { shown, detail } = await described(client, row.id)
    const left = await withdrawalsInForce(client, row.knowledge_base_id)
    const others = left.filter((one) => one.document === row.document_id).map((one) => `${one.id} (${one.label})`)
    return [{ ...shown, others }, `withdrawal:${row.id}`, { ...detail, signed_by: names, restored_because: reason }]
  })
}

async function end(client: Queryable, row: WithdrawalRow, reason: string, keys: readonly SigningKey[]) {
  const knowledge_base = { id: row.knowledge_base_id, slug: row.knowledge_base }
  const about = { withdrawal: row.id, withdrawal_sha256: sha256(row.statement).toString('hex') }
  const statement = statementText({ format: 'evidence restoration 1', knowledge_base, ...about, reason })
  const { signatures, names } = await signed(client, row.knowledge_base_id, statement, keys)
  if (!(await restoreWithdrawal(client, row.id, statement, signatures)))
    throw new OperatorError('The withdrawal is restored already: see "operator withdrawals list".')
  return names
}

export async function showWithdrawals(operator: Operator, knowledgeBase: string | undefined, limit: number) {
  const base = await idOf(knowledgeBaseNamed, operator.database, knowledgeBase)
  const registry = await readRegistry(operator.database)
  return (await listWithdrawals(operator.database, base, limit)).map((row) => shownOf(row, registry))
}

export async function versionToSearch(
  database: Queryable,
  base: Awaited<ReturnType<typeof knowledgeBaseNamed>>,
  version: string | undefined,
): Promise<SearchedVersion> {
  if (version === undefined) {
    if (base.active_version_id !== null) return { id: base.active_version_id, knowledge_base: base.slug }
    throw new OperatorError(`No version of "${base.slug}" is active: name one with --version VERSION.`)
  }
  const row = await versionNamed(database, version)
  if (row.knowledge_base !== base.slug)
    throw new OperatorError(`The version belongs to "${row.knowledge_base}", not to "${base.slug}": correct one.`)
  return row
}

async function assertRoom(database: Queryable, base: { readonly id: string; readonly slug: string }): Promise<void> {
  const inForce = (await withdrawalsInForce(database, base.id)).length
  if (inForce >= SEARCH_BOUNDS.withdrawalsMax)
    throw new OperatorError(
      `${inForce} withdrawals of "${base.slug}" are in force, which is the most that a search carries: withdraw whole ` +
        'documents, or build a version that decides about them and restore those that nothing holds any more.',
    )
}

/** @throws OperatorError unless as many different reviewers sign as the policy in force asks for. */
async function signed(client: Queryable, knowledgeBaseId: string, statement: string, keys: readonly SigningKey[]) {
  const { registry, inForce } = await readReviewRules(client, knowledgeBaseId)
  const signers = signersOf(registry, keys)
  const { withdrawal_reviewers: required } = inForce.policy
  if (signers.size < required)
    throw new OperatorError(
      `The policy in force asks for the signatures of ${required} different reviewers, and ${signers.size} signed: ` +
        'add --key FILE for each.',
    )
  const signatures = signaturesOf(statement, signers)
  return { signatures, names: signatures.map(({ reviewer }) => registry.byId(reviewer)?.name ?? reviewer) }
}

async function described(client: Queryable, id: string) {
  const row = await withdrawalNamed(client, id)
  const { document_id: document, provisions, chunk_id } = row
  const shown = shownOf(row, await readRegistry(client))
  const { knowledge_base, kind, label, reason, signed_by } = shown
  return { shown, detail: { knowledge_base, kind, label, reason, signed_by, document, provisions, chunk_id } }
}

function shownOf(row: WithdrawalRow, registry: Registry) {
  const { id, knowledge_base, chunk_id, provisions, label, reason, created_at, restored_at } = row
  const { restoration, restoration_signatures: again } = row
  /** `forged` where a signature does not hold. */
  const names = (statement: string, signatures: readonly StatementSignature[], at: Date): readonly string[] =>
    signatures.map((one) => {
      const holds = countSigners(statement, [one], at, (reviewer) => registry.byId(reviewer)) === 1
      return holds ? (registry.byId(one.reviewer)?.name ?? one.reviewer) : 'forged'
    })
  return {
    id,
    knowledge_base,
    kind: chunk_id !== '' ? 'passage' : provisions.length > 0 ? 'provision' : 'document',
    label,
    reason,
    state: restored_at === null ? 'in force' : 'restored',
    signed_by: [
      ...names(row.statement, row.signatures, created_at),
      ...(restored_at === null ? [] : names(restoration ?? '', again ?? [], restored_at)),
    ],
    created_at,
    restored_at,
  }
}

type SearchedVersion = Pick<VersionRow, 'id' | 'knowledge_base'>

const LISTED_MAX = 5
const LABEL_CHARACTERS_MAX = 1_000

/**
 * Finds in a version what an operator names: a passage by its `chunk_id`; a document by its id, its title or its
 * address; a provision by its citation as replies show it, by its id in the source, or as a question names it.
 * @throws OperatorError where it is not there, or is in several documents.
 * @returns what a search leaves out, with the `label` for people and the `passages` of the version that it is.
 */
async function findTarget(store: ArtifactStore, version: SearchedVersion, { what, document }: WithdrawInput) {
  const folder = await store.fetch(store.artifactFolder(version.id))
  const ofDocument = document === undefined ? undefined : documentMatch(document)
  const isWhole = documentMatch(what)
  const isPart = what.startsWith('chk_')
    ? ({ chunk_id: id }: PassageRecord) => id === what
    : provisionMatch(what, folder)
  const whole: PassageRecord[] = []
  const parts: PassageRecord[] = []
  for await (const passage of passagesIn(join(folder, 'passages.jsonl'))) {
    if (ofDocument?.(passage) === false) continue
    if (isWhole(passage)) whole.push(passage)
    if (isPart(passage)) parts.push(passage)
  }
  const found = whole.length > 0 ? whole : parts
  const [first] = found
  if (first === undefined)
    throw new OperatorError(
      `The version ${version.id} of "${version.knowledge_base}" holds no passage, provision or document ` +
        `"${what}"${document === undefined ? '' : ` in "${document}"`}: name it as a reply does (chunk_id, label or ` +
        'title), or name another version with --version.',
    )
  assertOneDocument(what, found)
  const { title } = first.document
  const target = { document: first.document.id, provisions: new Array<string>(), chunk_id: '', passages: found.length }
  if (whole.length > 0) return { ...target, label: title.slice(0, LABEL_CHARACTERS_MAX) }
  const label = `${first.citation.label}, ${title}`.slice(0, LABEL_CHARACTERS_MAX)
  if (what.startsWith('chk_')) return { ...target, label, chunk_id: what }
  return { ...target, label: label.replace(PART, ''), provisions: provisionsOf(what, found) }
}

function documentMatch(name: string): (passage: PassageRecord) => boolean {
  const key = foldKey(name)
  return ({ document }) => document.id === key || document.canonical_url === name || foldKey(document.title) === key
}

function provisionMatch(name: string, folder: string): (passage: PassageRecord) => boolean {
  const key = foldKey(name)
  const references = namedIn(name, folder)
  const isNamed = (one: string): boolean => references.some((form) => one === form || one.startsWith(`${form}/`))
  return ({ citation, source_id: sourceId, references: held }) =>
    foldKey(citation.label.replace(PART, '')) === key || sourceId === name || held.some(isNamed)
}

/** Canonical forms of the provisions that the name is a reference to; acts alone are no provisions. */
function namedIn(name: string, folder: string): readonly string[] {
  using index = openReferencesReader(folder)
  const { certain } = referencesIn(name, createActAliases(index.actNames))
  return certain
    .filter(({ reference }) => reference.path.length > 0)
    .map(({ reference }) => canonicalReference(reference))
}

function assertOneDocument(what: string, found: readonly PassageRecord[]): void {
  const documents = new Map(found.map(({ document }) => [document.id, document.title]))
  if (documents.size === 1) return
  const listed = [...documents].slice(0, LISTED_MAX).map(([id, title]) => `${id} (${title})`)
  throw new OperatorError(
    `"${what}" is in ${documents.size} documents: name one with --document ID, e.g. ${listed.join(', ')}.`,
  )
}

function provisionsOf(what: string, found: readonly PassageRecord[]): string[] {
  const provisions = [...new Set(found.map(({ provision }) => provision))]
  if (provisions.length > SEARCH_BOUNDS.withdrawnProvisionsMax)
    throw new OperatorError(
      `"${what}" has ${provisions.length} provisions and parts, and one withdrawal takes ` +
        `${SEARCH_BOUNDS.withdrawnProvisionsMax}: withdraw its parts one by one, or the document.`,
    )
  return provisions.sort()
}
