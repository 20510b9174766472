import { listReviewers } from '#core/db/reviewers.ts'
import { readRegistry } from '#jobs/review/approvals.ts'
import { REVIEW_BOUNDS } from '#jobs/review/bounds.ts'
import {
  addReviewer,
  readPublicKey,
  readSigningKey,
  retireReviewerNamed,
  writeReviewerKey,
} from '#operator/actions/reviewers.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { option, signingKeys, text } from '#operator/command-line/inputs.ts'
import { change, group, list, offline } from '#operator/command-line/verbs.ts'

const NOTES =
  'The first reviewer is added without an endorsement; as many active reviewers endorse every other one as the ' +
  'strictest\nreview policy in force requires. A name, in any spelling, and a key belong to one reviewer for good.'

export const commands: Commands = [
  group('reviewers', 'people who sign reviews: keygen, add, retire, list', [
    offline('keygen', 'write a new private key and print its public key; needs no database', {
      notes:
        'The reviewer runs this and keeps the private key. Only the public key, on standard output, is handed on. A file\n' +
        'takes it where npm adds nothing: npm run --silent operator -- reviewers keygen --out first.pem > first.pub',
      input: { out: option('<file>', 'the private key, which only its owner may read; never overwritten', text) },
      async run({ out }) {
        const publicKey = await writeReviewerKey(out)
        return [{ private_key_file: out, public_key: publicKey }, publicKey.trimEnd()]
      },
    }),
    change('add <name>', 'add a reviewer by the public key', {
      notes: NOTES,
      input: {
        name: text,
        publicKey: option('<file>', 'PEM, as keygen prints it', text),
        key: signingKeys('private key of an active reviewer who endorses this one; not for the first'),
        login: option('<login>', 'login of this person in Postgres, for policies that exclude who started the build'),
      },
      async run({ name, publicKey, key, login }, { operator }) {
        const endorsers = await Promise.all(key.map(readSigningKey))
        const added = await addReviewer(operator, { name, publicKey: await readPublicKey(publicKey), endorsers, login })
        const names = added.endorsed_by.map((endorser) => `"${endorser}"`).join(', ')
        const how = names === '' ? 'without an endorsement' : `endorsed by ${names}`
        return [added, `Added reviewer "${added.name}", ${how}.`]
      },
    }),
    change('retire <name>', 'retire a reviewer for good; approvals of this reviewer no longer count', {
      input: { name: text },
      async run({ name }, { operator }) {
        const retired = await retireReviewerNamed(operator, name)
        return [retired, `Retired reviewer "${retired.name}".`]
      },
    }),
    list('list', 'list reviewers, the first one first', {
      notes: '"verified" is no where an endorsement does not hold; what such a row signs counts for nothing.',
      async read(_input, { database }) {
        const all = await listReviewers(database, REVIEW_BOUNDS.reviewersMax)
        const registry = await readRegistry(database)
        const nameOf = new Map(all.map(({ id, name }) => [id, name]))
        return all.map(({ id, name, login, public_key: key, endorsements, created_at, retired_at }) => {
          const endorsed_by = endorsements.map(({ reviewer }) => nameOf.get(reviewer) ?? reviewer)
          const verified = registry.byId(id) !== undefined
          return { id, name, login, public_key: key.toString('base64'), endorsed_by, verified, created_at, retired_at }
        })
      },
      columns: 'name endorsed_by verified created_at=added retired_at public_key',
      empty: 'There is no reviewer yet: add one with "operator reviewers add NAME --public-key FILE".',
    }),
  ]),
]
