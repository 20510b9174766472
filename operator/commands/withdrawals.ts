import { openArtifactStore } from '#core/index/format/store.ts'
import { STORE_SETTINGS } from '#core/index/settings.ts'
import { readSigningKey } from '#operator/actions/reviewers.ts'
import { restore, showWithdrawals, withdraw } from '#operator/actions/withdrawals.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { isGiven, option, rows, signingKeys, text } from '#operator/command-line/inputs.ts'
import { change, group, list } from '#operator/command-line/verbs.ts'

const key = signingKeys('private key of a reviewer; as many as the policy of the knowledge base asks for')
const reason = option('<text>', 'why; part of what is signed', text.max(2_000, 'must have at most 2000 characters'))

export const commands: Commands = [
  change('withdraw <what>', 'take a passage, a provision or a document out of service within five seconds', {
    notes:
      'A passage is named by its chunk_id, a document by its id, title or address, a provision by its citation as ' +
      'replies show it,\nby its id in the source, or as a question names it. A question that names it abstains with the ' +
      'reason "withdrawn".\nEach later build must decide about it: "build start --drop-withdrawn" or ' +
      '"--restore-withdrawn".',
    input: {
      what: text,
      knowledgeBase: option('<slug>', 'slug or UUID', text),
      reason,
      key,
      document: option('<document>', 'id, title or address of the document that holds the provision'),
      version: option('<version>', 'where it is looked for; default: the active version'),
      otherLaw: option('', 'state that it is other law than what is withdrawn: it is served', isGiven),
    },
    variables: STORE_SETTINGS,
    async run({ key: files, ...input }, { operator, config }) {
      const keys = await Promise.all(files.map(readSigningKey))
      const made = await withdraw(operator, openArtifactStore(config), input, keys)
      if (input.otherLaw)
        return [made, `Stated that the ${made.kind} "${made.label}" is other law; activate the version again.`]
      const passages = `${made.passages} ${made.passages === 1 ? 'passage' : 'passages'}`
      return [
        made,
        `Withdrew the ${made.kind} "${made.label}", ${passages} of the version; in force within 5 s.\n` +
          made.also_served.map((sentence) => `It is still served under another id. ${sentence}\n`).join('') +
          `Next: operator build start --import IMPORT --drop-withdrawn ${made.id}\n` +
          `Or, to serve it again: operator withdrawals restore ${made.id} --reason TEXT --key FILE`,
      ]
    },
  }),
  group('withdrawals', 'what is out of service: list, restore', [
    list('list', 'list withdrawals, those in force first', {
      input: { knowledgeBase: option('<slug>', 'only those of one'), rows },
      read: async (input, { operator }) => await showWithdrawals(operator, input.knowledgeBase, input.rows),
      columns: 'id knowledge_base kind label state signed_by created_at=since restored_at reason',
      empty: 'Nothing is withdrawn here.',
    }),
    change('restore <withdrawal>', 'end a withdrawal: what the versions hold is served again within five seconds', {
      input: { withdrawal: text, reason, key },
      async run({ withdrawal, reason: why, key: files }, { operator }) {
        const ended = await restore(operator, withdrawal, why, await Promise.all(files.map(readSigningKey)))
        const others = ended.others.map((one) => `\nWithdrawal ${one} of the same document stays in force.`)
        return [ended, `Restored the ${ended.kind} "${ended.label}"; in force within 5 s.${others.join('')}`]
      },
    }),
  ]),
]
