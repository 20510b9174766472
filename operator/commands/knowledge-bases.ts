import { z } from 'zod'
import { listKnowledgeBases } from '#core/db/knowledge-bases.ts'
import { CHANGE_KINDS } from '#core/domain/changes.ts'
import { REVIEWERS_REQUIRED_MAX } from '#core/domain/review-policy.ts'
import { createKnowledgeBase, setTrace } from '#operator/actions/organizations.ts'
import { changeReviewPolicy, showReviewPolicy } from '#operator/actions/review-policies.ts'
import { readSigningKey } from '#operator/actions/reviewers.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { commaList, option, rows, signingKeys, text, whole } from '#operator/command-line/inputs.ts'
import { fields } from '#operator/command-line/table.ts'
import { change, group, list } from '#operator/command-line/verbs.ts'

const LIMIT = /^([a-z_]+)=(\d{1,9})$/
const LIMITS = 'must be like passages_changed=10,documents_removed=1'

/** `passages_changed=10,documents_removed=1` */
const limits = commaList
  .transform((parts) => parts.map((part) => LIMIT.exec(part)).map((match) => [match?.[1], Number(match?.[2])] as const))
  .pipe(z.array(z.tuple([z.enum(CHANGE_KINDS, LIMITS), z.int(LIMITS)])))
  .transform((pairs) => Object.fromEntries(pairs))

function reviewers(who: string, min: number): z.ZodType<number | undefined> {
  const help = `different reviewers who must ${who}, ${min} to ${REVIEWERS_REQUIRED_MAX}`
  return option('<n>', help, whole(min, REVIEWERS_REQUIRED_MAX).optional())
}

export const commands: Commands = [
  group('knowledge-bases', 'collections a client can be entitled to: create, list, policy, trace', [
    change('create <slug>', 'create an empty knowledge base; requests name it by its slug', {
      examples: ['knowledge-bases create hsfa-rules --title "HSFA rulebook"'],
      input: { slug: text, title: option('<title>', 'what people call it', text) },
      async run(input, { operator }) {
        const made = await createKnowledgeBase(operator, input)
        const next = `operator import --knowledge-base ${made.slug} --source PATH`
        return [made, `Created knowledge base "${made.slug}" (${made.id}).\nNext: ${next}`]
      },
    }),
    list('list', 'list knowledge bases and what is active in them', {
      examples: ['knowledge-bases list'],
      input: { rows },
      read: async (input, { database }) => await listKnowledgeBases(database, input.rows),
      columns: ['slug', 'title', 'passages', ['active_version_id', 'active version'], 'activated_at', 'traced', 'id'],
      empty: 'There is no knowledge base yet: create one with "operator knowledge-bases create SLUG --title TITLE".',
    }),
    change('policy <slug>', 'show what reviews of its candidates need, or change it with the signatures of reviewers', {
      notes:
        `Kinds: ${CHANGE_KINDS.join(', ')}.\nWho started a build is the actor, whom the operator names, and the login ` +
        'in Postgres. The exclusion is as good as those logins are personal.',
      examples: [
        'knowledge-bases policy hsfa-rules',
        'knowledge-bases policy hsfa-rules --reviewers 2 --exclude-build-starter yes --key first.pem',
        'knowledge-bases policy hsfa-rules --limit passages_changed=10 --key first.pem --key second.pem',
      ],
      input: {
        slug: text,
        reviewers: reviewers('approve', 1),
        rollbackReviewers: reviewers('approve a rollback', 0),
        withdrawalReviewers: reviewers('sign a withdrawal and its end', 0),
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
        key: signingKeys('private key of a reviewer; as many as the policy in force requires'),
      },
      async run({ slug, key, limit, ...asked }, { operator }) {
        const isChange = [limit, ...Object.values(asked)].some((value) => value !== undefined)
        const keys = await Promise.all(key.map(readSigningKey))
        const shown = isChange
          ? await changeReviewPolicy(operator, slug, { ...asked, limits: limit }, keys)
          : await showReviewPolicy(operator, slug)
        return [shown, fields(shown)]
      },
    }),
    change('trace <slug> <state>', 'decide whether activations extend the public source trace: on or off', {
      notes:
        'The trace shows sources, manifests, approvals with the names of reviewers, and the history. It holds no text ' +
        'and lists no passages. A job writes it within seconds, and after each activation. "off" removes nothing: what ' +
        'was served stays resolvable.',
      examples: ['knowledge-bases trace hsfa-rules on', 'knowledge-bases trace hsfa-rules off'],
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
