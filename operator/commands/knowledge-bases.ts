import { z } from 'zod'
import { listKnowledgeBases } from '#core/db/knowledge-bases.ts'
import { CHANGE_KINDS } from '#core/domain/changes.ts'
import { REVIEWERS_REQUIRED_MAX, reviewPolicySchema, type ReviewPolicy } from '#core/domain/review-policy.ts'
import { createKnowledgeBase, setTrace } from '#operator/actions/organizations.ts'
import { readSigningKey, signaturesOf, signersOf } from '#operator/actions/reviewers.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { commaList, day, option, rows, signingKeys, text, whole } from '#operator/command-line/inputs.ts'
import { fields } from '#operator/command-line/table.ts'
import { change, group, list } from '#operator/command-line/verbs.ts'
import type { SigningKey } from '#core/credentials/reviewer-keys.ts'
import { insertReviewPolicy } from '#core/db/review-policies.ts'
import { lockReviewers } from '#core/db/reviewers.ts'
import { statementText } from '#core/domain/review-statements.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { REVIEW_BOUNDS } from '#jobs/review/bounds.ts'
import { readReviewRules, type ReviewRules } from '#jobs/review/approvals.ts'
import { knowledgeBaseNamed } from '#operator/actions/names.ts'
import { withAudit, type Operator } from '#operator/actions/operator.ts'

const LIMIT = /^([a-z_]+)=(\d{1,9})$/
const LIMITS = 'must be like passages_changed=10,documents_removed=1'

/** `passages_changed=10,documents_removed=1` */
const limits = commaList
  .transform((parts) => parts.map((part) => LIMIT.exec(part)).map((match) => [match?.[1], Number(match?.[2])] as const))
  .pipe(z.array(z.tuple([z.enum(CHANGE_KINDS, LIMITS), z.int(LIMITS)])))
  .transform((pairs) => Object.fromEntries(pairs))

function reviewersOption(who: string, min: number): z.ZodType<number | undefined> {
  const help = `different reviewers who must ${who}, ${min} to ${REVIEWERS_REQUIRED_MAX}`
  return option('<n>', help, whole(min, REVIEWERS_REQUIRED_MAX).optional())
}

/** What a policy may be changed in; what is not given stays. */
const policyInput = {
  reviewers: reviewersOption('approve', 1),
  rollbackReviewers: reviewersOption('approve a rollback', 0),
  withdrawalReviewers: reviewersOption('sign a withdrawal and its end', 0),
  excludeBuildStarter: option(
    '<yes|no>',
    'whether the approval of who started the build does not count',
    z
      .enum(['yes', 'no'], 'must be yes or no')
      .transform((value) => value === 'yes')
      .optional(),
  ),
  limit: option(
    '<limits>',
    'the largest count by kind of change that needs no acceptance by name; default 0, of additions a tenth',
    limits.optional(),
  ),
}

export const commands: Commands = [
  group('knowledge-bases', 'collections a client can be entitled to: create, list, policy, trace', [
    change('create <slug>', 'create an empty knowledge base; requests name it by its slug', {
      notes:
        'Law is served that is in force on the day of a request. With --as-of it is the law of one day, which never\n' +
        'changes, is in each signed manifest, and is what "verify-reply" proves.',
      input: {
        slug: text,
        title: option('<title>', 'what people call it', text),
        asOf: option('<day>', 'serve the law of this day, YYYY-MM-DD, instead of today', day.optional()),
      },
      async run(input, { operator }) {
        const made = await createKnowledgeBase(operator, input)
        const next = `operator import --knowledge-base ${made.slug} --source PATH`
        return [made, `Created knowledge base "${made.slug}" (${made.id}).\nNext: ${next}`]
      },
    }),
    list('list', 'list knowledge bases and what is active in them', {
      input: { rows },
      read: async (input, { database }) => await listKnowledgeBases(database, input.rows),
      columns: 'slug title as_of passages active_version_id activated_at traced id',
      empty: 'There is no knowledge base yet: create one with "operator knowledge-bases create SLUG --title TITLE".',
    }),
    change('policy <slug>', 'show what reviews of its candidates need, or change it with the signatures of reviewers', {
      notes:
        `Kinds: ${CHANGE_KINDS.join(', ')}.\nWho started a build is the actor, whom the operator names, and the login ` +
        'in Postgres. The exclusion is as good as those logins are personal.',
      input: {
        slug: text,
        ...policyInput,
        key: signingKeys('private key of a reviewer; as many as the policy in force requires'),
      },
      async run({ slug, key, ...asked }, { operator }) {
        const isChange = Object.values(asked).some((value) => value !== undefined)
        const keys = await Promise.all(key.map(readSigningKey))
        const shown = await (isChange ? changeReviewPolicy(operator, slug, asked, keys) : policyOf(operator, slug))
        return [shown, fields(shown)]
      },
    }),
    change('trace <slug> <state>', 'decide whether activations extend the public source trace: on or off', {
      notes:
        'It is on from the creation. The trace shows sources, manifests, approvals with the names of reviewers, and the ' +
        'history. It holds no text and lists no passages. A job writes it within seconds, and after each activation. "off" removes nothing: what ' +
        'was served stays resolvable.',
      input: { slug: text, state: z.enum(['on', 'off'], 'must be on or off') },
      async run({ slug, state }, { operator }) {
        const set = await setTrace(operator, slug, state === 'on')
        const then = set.traced
          ? 'on: a job worker writes it within seconds.'
          : 'off: activations no longer extend it, and what is published stays.'
        return [set, `The trace of "${set.slug}" is ${then}`]
      },
    }),
  ]),
]

/** @returns `seq` 0: the default. */
async function policyOf({ database }: Operator, knowledgeBase: string) {
  const { id, slug } = await knowledgeBaseNamed(database, knowledgeBase)
  const { policy, seq } = (await readReviewRules(database, id)).inForce
  return { knowledge_base: slug, seq, ...policy }
}

/**
 * Changes what a knowledge base asks of reviews. As many reviewers sign as the policy in force requires, so that no
 * limit is raised without them.
 */
async function changeReviewPolicy(
  operator: Operator,
  knowledgeBase: string,
  asked: z.output<z.ZodObject<typeof policyInput>>,
  keys: readonly SigningKey[],
) {
  return withAudit(operator, 'knowledge-base.policy', async (client) => {
    await lockReviewers(client)
    const { id, slug } = await knowledgeBaseNamed(client, knowledgeBase)
    const rules = await readReviewRules(client, id)
    const { inForce } = rules
    const policy = reviewPolicySchema.parse({
      reviewers: asked.reviewers ?? inForce.policy.reviewers,
      rollback_reviewers: asked.rollbackReviewers ?? inForce.policy.rollback_reviewers,
      withdrawal_reviewers: asked.withdrawalReviewers ?? inForce.policy.withdrawal_reviewers,
      exclude_build_starter: asked.excludeBuildStarter ?? inForce.policy.exclude_build_starter,
      limits: { ...inForce.policy.limits, ...asked.limit },
    })
    const signers = enoughSigners(rules, keys, policy)
    const seq = inForce.seq + 1
    if (rules.registry.policies >= REVIEW_BOUNDS.reviewPoliciesMax)
      throw new OperatorError(
        `There are ${rules.registry.policies} review policies already, which is the most that is supported.`,
      )
    const statement = statementText({
      format: 'evidence review policy 1',
      knowledge_base: { id, slug },
      seq,
      previous_sha256: inForce.sha256,
      policy,
    })
    const signed = { knowledge_base_id: id, seq, statement, signatures: signaturesOf(statement, signers) }
    if (!(await insertReviewPolicy(client, signed)))
      throw new OperatorError(`The policy of "${slug}" was changed meanwhile: look at it and repeat the command.`)
    const names = [...signers.keys()].map((signer) => rules.registry.byId(signer)?.name)
    const detail = { knowledge_base: slug, seq, before: inForce.policy, after: policy, reviewers: names }
    return [{ knowledge_base: slug, seq, ...policy }, `knowledge-base:${id}`, detail]
  })
}

/** The keys by reviewer, of as many as the policy in force asks for. */
function enoughSigners({ registry, inForce }: ReviewRules, keys: readonly SigningKey[], next: ReviewPolicy) {
  const signers = signersOf(registry, keys)
  const { reviewers: required } = inForce.policy
  if (signers.size < required)
    throw new OperatorError(
      `The policy in force asks for ${required} different reviewers, and ${signers.size} signed: add --key for each.`,
    )
  const asked = Math.max(next.reviewers, next.rollback_reviewers, next.withdrawal_reviewers)
  if (registry.active.length < asked)
    throw new OperatorError(
      `There are ${registry.active.length} active reviewers, so ${asked} could never approve: add reviewers first.`,
    )
  return signers
}
