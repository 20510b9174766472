import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { z } from 'zod'
import { listKnowledgeBases } from '#core/db/knowledge-bases.ts'
import { CHANGE_KINDS } from '#core/domain/changes.ts'
import { REVIEWERS_REQUIRED_MAX } from '#core/domain/review-policy.ts'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import { changeReviewPolicy, showReviewPolicy } from '#operator/actions/review-policies.ts'
import { readSigningKey } from '#operator/actions/reviewers.ts'
import { setTrace } from '#operator/actions/traces.ts'
import { addCommandGroup } from '#operator/command-line/command.ts'
import { list, rows, text, whole } from '#operator/command-line/inputs.ts'
import { addDatabaseCommand } from '#operator/command-line/session.ts'
import { fields, table } from '#operator/command-line/table.ts'

export function addKnowledgeBases(program: OperatorCommand): void {
  const bases = addCommandGroup(
    program,
    'knowledge-bases',
    'collections a client can be entitled to: create, list, policy, trace',
  )
  addDatabaseCommand(bases, {
    usage: 'create <slug>',
    summary: 'create an empty knowledge base; requests name it by its slug',
    flags: { '--title <title>': 'what people call it' },
    examples: ['knowledge-bases create hsfa-rules --title "HSFA rulebook"'],
    input: { slug: text, title: text },
    variables: {},
    writes: true,
    run: async (input, { operator, show }) => {
      const made = await createKnowledgeBase(operator, input)
      show(
        made,
        () =>
          `Created knowledge base "${made.slug}" (${made.id}).\nNext: operator import ` +
          `--knowledge-base ${made.slug} --source PATH`,
      )
    },
  })
  addDatabaseCommand(bases, {
    usage: 'list',
    summary: 'list knowledge bases and what is active in them',
    flags: { '--rows <n>': 'show at most so many' },
    examples: ['knowledge-bases list'],
    input: { rows },
    variables: {},
    run: async (input, { operator, show }) => {
      const found = await listKnowledgeBases(operator.database, input.rows)
      const columns = {
        slug: 'slug',
        title: 'title',
        passages: 'passages',
        active_version_id: 'active version',
        activated_at: 'activated',
        traced: 'traced',
        id: 'id',
      }
      show(found, () =>
        table(
          found,
          columns,
          'There is no knowledge base yet: create one with "operator knowledge-bases create SLUG --title TITLE".',
        ),
      )
    },
  })
  addPolicy(bases)
  addTrace(bases)
}

function addTrace(bases: OperatorCommand): void {
  addDatabaseCommand(bases, {
    usage: 'trace <slug> <state>',
    summary: 'decide whether activations extend the public source trace: on or off',
    flags: {},
    notes:
      'The trace shows sources, manifests, approvals with the names of reviewers, and the history. It holds no text ' +
      'and lists no passages. A job writes it within seconds, and after each activation. "off" removes nothing: what ' +
      'was served stays resolvable.',
    examples: ['knowledge-bases trace hsfa-rules on', 'knowledge-bases trace hsfa-rules off'],
    input: {
      slug: text,
      state: z.enum(['on', 'off'], 'must be on or off').transform((state) => state === 'on'),
    },
    variables: {},
    writes: true,
    run: async ({ slug, state }, { operator, show }) => {
      const set = await setTrace(operator, slug, state)
      show(set, () =>
        state
          ? `The trace of "${set.slug}" is on: a job worker writes it within seconds.`
          : `The trace of "${set.slug}" is off: activations no longer extend it, and what is published stays.`,
      )
    },
  })
}

const LIMIT = /^([a-z_]+)=(\d{1,9})$/
const LIMITS = 'must be like passages_changed=10,documents_removed=1'

/** `passages_changed=10,documents_removed=1` */
const limits = list
  .transform((parts) => parts.map((part) => LIMIT.exec(part)).map((match) => [match?.[1], Number(match?.[2])] as const))
  .pipe(z.array(z.tuple([z.enum(CHANGE_KINDS, LIMITS), z.int(LIMITS)])))
  .transform((pairs) => Object.fromEntries(pairs))

function addPolicy(bases: OperatorCommand): void {
  addDatabaseCommand(bases, {
    usage: 'policy <slug>',
    summary: 'show what reviews of its candidates need, or change it with the signatures of reviewers',
    flags: {
      '--reviewers <n>': `different reviewers who must approve, 1 to ${REVIEWERS_REQUIRED_MAX}`,
      '--rollback-reviewers <n>': `different reviewers who must approve a rollback, 0 to ${REVIEWERS_REQUIRED_MAX}`,
      '--withdrawal-reviewers <n>': `different reviewers who must sign a withdrawal and its end, 0 to ${REVIEWERS_REQUIRED_MAX}`,
      '--exclude-build-starter <yes|no>': 'whether the approval of who started the build does not count',
      '--limit <limits>':
        'the largest count by kind of change that needs no acceptance by name; default 0, of additions a tenth',
      '--key <file...>': 'private key of a reviewer; as many as the policy in force requires',
    },
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
      reviewers: whole(1, REVIEWERS_REQUIRED_MAX).optional(),
      rollbackReviewers: whole(0, REVIEWERS_REQUIRED_MAX).optional(),
      withdrawalReviewers: whole(0, REVIEWERS_REQUIRED_MAX).optional(),
      excludeBuildStarter: z
        .enum(['yes', 'no'], 'must be yes or no')
        .transform((value) => value === 'yes')
        .optional(),
      limit: limits.optional(),
      key: z.array(text).max(REVIEWERS_REQUIRED_MAX).default([]),
    },
    variables: {},
    writes: true,
    run: async ({ slug, key, limit, ...change }, { operator, show }) => {
      const asked = [limit, ...Object.values(change)].some((value) => value !== undefined)
      const keys = await Promise.all(key.map(readSigningKey))
      const shown = asked
        ? await changeReviewPolicy(operator, slug, { ...change, limits: limit }, keys)
        : await showReviewPolicy(operator, slug)
      show(shown, () => fields(shown))
    },
  })
}
