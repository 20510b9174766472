import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { z } from 'zod'
import { listReviewers } from '#core/db/reviewers.ts'
import { REVIEWERS_REQUIRED_MAX } from '#core/domain/review-policy.ts'
import { REVIEW_BOUNDS } from '#jobs/review/bounds.ts'
import {
  addReviewer,
  readPublicKey,
  readSigningKey,
  retireReviewerNamed,
  writeReviewerKey,
} from '#operator/actions/reviewers.ts'
import { addCommand, addCommandGroup } from '#operator/command-line/command.ts'
import { text } from '#operator/command-line/inputs.ts'
import { addDatabaseCommand } from '#operator/command-line/session.ts'
import { table } from '#operator/command-line/table.ts'
import { readRegistry } from '#jobs/review/approvals.ts'

const NOTES =
  'The first reviewer is added without an endorsement; as many active reviewers endorse every other one as the ' +
  'strictest\nreview policy in force requires. A name, in any spelling, and a key belong to one reviewer for good.'

export function addReviewers(program: OperatorCommand): void {
  const reviewers = addCommandGroup(program, 'reviewers', 'people who sign reviews: keygen, add, retire, list')
  addKeygen(reviewers)
  addDatabaseCommand(reviewers, {
    usage: 'add <name>',
    summary: 'add a reviewer by the public key',
    flags: {
      '--public-key <file>': 'PEM, as keygen prints it',
      '--key <file...>': 'private key of an active reviewer who endorses this one; not for the first',
      '--login <login>': 'login of this person in Postgres, for policies that exclude who started the build',
    },
    notes: NOTES,
    examples: [
      'reviewers add "First reviewer" --public-key first.pub',
      'reviewers add "Second reviewer" --public-key second.pub --key first.pem',
    ],
    input: {
      name: text,
      publicKey: text,
      key: z.array(text).max(REVIEWERS_REQUIRED_MAX).default([]),
      login: text.optional(),
    },
    variables: {},
    writes: true,
    run: async ({ name, publicKey, key, login }, { operator, show }) => {
      const endorsers = await Promise.all(key.map(readSigningKey))
      const added = await addReviewer(operator, { name, publicKey: await readPublicKey(publicKey), endorsers, login })
      const names = added.endorsed_by.map((endorser) => `"${endorser}"`).join(', ')
      show(
        added,
        () => `Added reviewer "${added.name}", ${names === '' ? 'without an endorsement' : `endorsed by ${names}`}.`,
      )
    },
  })
  addDatabaseCommand(reviewers, {
    usage: 'retire <name>',
    summary: 'retire a reviewer for good; approvals of this reviewer no longer count',
    examples: ['reviewers retire "First reviewer"'],
    input: { name: text },
    variables: {},
    writes: true,
    run: async ({ name }, { operator, show }) => {
      const retired = await retireReviewerNamed(operator, name)
      show(retired, () => `Retired reviewer "${retired.name}".`)
    },
  })
  addList(reviewers)
}

function addKeygen(reviewers: OperatorCommand): void {
  addCommand(
    reviewers,
    {
      usage: 'keygen',
      summary: 'write a new private key and print its public key; needs no database',
      flags: { '--out <file>': 'the private key, which only its owner may read; never overwritten' },
      notes:
        'The reviewer runs this and keeps the private key. Only the public key, on standard output, is handed on. A file\n' +
        'takes it where npm adds nothing: npm run --silent operator -- reviewers keygen --out first.pem > first.pub',
      examples: ['reviewers keygen --out first.pem'],
      input: { out: text },
    },
    {},
    async ({ out }, { show }) => {
      const publicKey = await writeReviewerKey(out)
      show({ private_key_file: out, public_key: publicKey }, () => publicKey.trimEnd())
    },
  )
}

function addList(reviewers: OperatorCommand): void {
  addDatabaseCommand(reviewers, {
    usage: 'list',
    summary: 'list reviewers, the first one first',
    notes: '"verified" is no where an endorsement does not hold; what such a row signs counts for nothing.',
    examples: ['reviewers list'],
    input: {},
    variables: {},
    run: async (_input, { operator, show }) => {
      const rows = await listReviewers(operator.database, REVIEW_BOUNDS.reviewersMax)
      const registry = await readRegistry(operator.database)
      const nameOf = new Map(rows.map(({ id, name }) => [id, name]))
      const found = rows.map((row) => ({
        id: row.id,
        name: row.name,
        login: row.login,
        public_key: row.public_key.toString('base64'),
        endorsed_by: row.endorsements.map(({ reviewer }) => nameOf.get(reviewer) ?? reviewer),
        verified: registry.byId(row.id) !== undefined,
        created_at: row.created_at,
        retired_at: row.retired_at,
      }))
      const columns = {
        name: 'name',
        endorsed_by: 'endorsed by',
        verified: 'verified',
        created_at: 'added',
        retired_at: 'retired',
        public_key: 'public key',
      }
      show(found, () =>
        table(
          found,
          columns,
          'There is no reviewer yet: add one with "operator reviewers add NAME --public-key FILE".',
        ),
      )
    },
  })
}
