import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { z } from 'zod'
import { REVIEWERS_REQUIRED_MAX } from '#core/domain/review-policy.ts'
import { createArtifactStore } from '#core/index/format/store.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { readSigningKey } from '#operator/actions/reviewers.ts'
import { restore, showWithdrawals, withdraw } from '#operator/actions/withdrawals.ts'
import { addCommandGroup } from '#operator/command-line/command.ts'
import { rows, text } from '#operator/command-line/inputs.ts'
import { addDatabaseCommand } from '#operator/command-line/session.ts'
import { cell, table } from '#operator/command-line/table.ts'

const { ARTIFACT_STORE } = OPERATOR_VARIABLES
const EXAMPLE = '6f1c2a0e-7a38-4f4e-9c7e-0d6f6a2b9a11'
const KEY = { '--key <file...>': 'private key of a reviewer; as many as the policy of the knowledge base asks for' }
const key = z.array(text).max(REVIEWERS_REQUIRED_MAX).default([])
const reason = text.max(2_000, 'must have at most 2000 characters')

export function addWithdrawals(program: OperatorCommand): void {
  addWithdraw(program)
  const withdrawals = addCommandGroup(program, 'withdrawals', 'what is out of service: list, restore')
  addDatabaseCommand(withdrawals, {
    usage: 'list',
    summary: 'list withdrawals, those in force first',
    flags: { '--knowledge-base <slug>': 'only those of one', '--rows <n>': 'show at most so many' },
    examples: ['withdrawals list --knowledge-base hsfa-rules'],
    input: { knowledgeBase: text.optional(), rows },
    variables: {},
    run: async (input, { operator, show }) => {
      const found = await showWithdrawals(operator, input.knowledgeBase, input.rows)
      const columns = {
        id: 'id',
        knowledge_base: 'knowledge base',
        kind: 'kind',
        label: 'label',
        state: 'state',
        signed_by: 'signed by',
        created_at: 'since',
        restored_at: 'restored',
        reason: 'reason',
      }
      const shown = found.map((one) => ({ ...one, signed_by: one.signed_by.join(', '), reason: cell(one.reason) }))
      show(found, () => table(shown, columns, 'Nothing is withdrawn here.'))
    },
  })
  addDatabaseCommand(withdrawals, {
    usage: 'restore <withdrawal>',
    summary: 'end a withdrawal: what the versions hold is served again within five seconds',
    flags: { '--reason <text>': 'why; part of what is signed', ...KEY },
    examples: [`withdrawals restore ${EXAMPLE} --reason "checked with the publisher" --key reviewer.pem`],
    input: { withdrawal: text, reason, key },
    variables: {},
    writes: true,
    run: async (input, { operator, show }) => {
      const keys = await Promise.all(input.key.map(readSigningKey))
      const ended = await restore(operator, input.withdrawal, input.reason, keys)
      show(ended, () => `Restored the ${ended.kind} "${ended.label}"; in force within 5 s.`)
    },
  })
}

function addWithdraw(program: OperatorCommand): void {
  addDatabaseCommand(program, {
    usage: 'withdraw <what>',
    summary: 'take a passage, a provision or a document out of service within five seconds',
    flags: {
      '--knowledge-base <slug>': 'slug or UUID',
      '--reason <text>': 'why; part of what is signed',
      ...KEY,
      '--document <document>': 'id, title or address of the document that holds the provision',
      '--version <version>': 'where it is looked for; default: the active version',
    },
    notes:
      'A passage is named by its chunk_id, a document by its id, title or address, a provision by its citation as ' +
      'replies show it,\nby its id in the source, or as a question names it. A question that names it abstains with the ' +
      'reason "withdrawn".\nEach later build must decide about it: "build start --drop-withdrawn" or ' +
      '"--restore-withdrawn".',
    examples: [
      'withdraw "COB-M 2.1" --knowledge-base hsfa-rules --reason "the publisher corrects it" --key reviewer.pem',
    ],
    input: {
      what: text,
      knowledgeBase: text,
      reason,
      key,
      document: text.optional(),
      version: text.optional(),
    },
    variables: { ARTIFACT_STORE },
    writes: true,
    run: async ({ key: files, ...input }, { operator, config, show }) => {
      const keys = await Promise.all(files.map(readSigningKey))
      const made = await withdraw(operator, createArtifactStore(config.ARTIFACT_STORE), input, keys)
      const passages = `${made.passages} ${made.passages === 1 ? 'passage' : 'passages'}`
      show(
        made,
        () =>
          `Withdrew the ${made.kind} "${made.label}", ${passages} of the version; in force within 5 s.\n` +
          `Next: operator build start --import IMPORT --drop-withdrawn ${made.id}\n` +
          `Or, to serve it again: operator withdrawals restore ${made.id} --reason TEXT --key FILE`,
      )
    },
  })
}
