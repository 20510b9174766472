import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { listHistory, readWayBack } from '#core/db/activation-history.ts'
import type { PastActivation } from '#core/db/activation-history.ts'
import { listVersions } from '#core/db/corpus-lists.ts'
import { knowledgeBaseNamed, versionNamed } from '#operator/actions/names.ts'
import { addCommandGroup } from '#operator/command-line/command.ts'
import { rows, text } from '#operator/command-line/inputs.ts'
import { addDatabaseCommand } from '#operator/command-line/session.ts'
import { fields, table } from '#operator/command-line/table.ts'
import { rejectedStep } from '#jobs/review/rejections.ts'

export function addVersions(program: OperatorCommand): void {
  const versions = addCommandGroup(program, 'versions', 'immutable corpus versions: list, show, history')
  addHistory(versions)
  addDatabaseCommand(versions, {
    usage: 'list',
    summary: 'list versions and their states, newest first',
    flags: { '--knowledge-base <slug>': 'only those of one', '--rows <n>': 'show at most so many' },
    examples: ['versions list', 'versions list --knowledge-base hsfa-rules --json'],
    input: { knowledgeBase: text.optional(), rows },
    variables: {},
    run: async (input, { operator, show }) => {
      const base =
        input.knowledgeBase === undefined ? null : (await knowledgeBaseNamed(operator.database, input.knowledgeBase)).id
      const found = (await listVersions(operator.database, base, input.rows)).map(
        ({ facets: _facets, evaluation: _evaluation, ...row }) => row,
      )
      const columns = {
        id: 'id',
        knowledge_base: 'knowledge base',
        state: 'state',
        passed: 'passed',
        verdict: 'review',
        passages: 'passages',
        documents: 'documents',
        profile_id: 'profile',
        created_at: 'created',
      }
      show(found, () => table(found, columns, 'There is no version here: build one with "operator build start".'))
    },
  })
  addDatabaseCommand(versions, {
    usage: 'show <version>',
    summary: 'show a version with its profile, facets and evaluation',
    examples: ['versions show 6f1c2a0e-7a38-4f4e-9c7e-0d6f6a2b9a11'],
    input: { version: text },
    variables: {},
    run: async (input, { operator, show }) => {
      const version = await versionNamed(operator.database, input.version)
      show(version, () => fields(version))
    },
  })
}

function addHistory(versions: OperatorCommand): void {
  addDatabaseCommand(versions, {
    usage: 'history <knowledge-base>',
    summary: 'list what was active, newest first, and where a rollback goes',
    flags: { '--rows <n>': 'show at most so many' },
    notes:
      'A rollback returns to the activation marked "next". A version that was left is built again.\n' +
      'A version that was rejected since is passed over.',
    examples: ['versions history hsfa-rules', 'versions history hsfa-rules --rows 5 --json'],
    input: { 'knowledge-base': text, rows },
    variables: {},
    run: async (input, { operator, show }) => {
      const base = await knowledgeBaseNamed(operator.database, input['knowledge-base'])
      const rejected = rejectedStep(operator.database)
      const { target } = await readWayBack(operator.database, base.id, rejected)
      const found: (Omit<PastActivation, 'claimed'> & { readonly rejected: boolean; readonly next: boolean })[] = []
      for (const { claimed, ...row } of await listHistory(operator.database, base.id, input.rows))
        found.push({ ...row, rejected: await rejected({ ...row, claimed }), next: row.sequence === target?.sequence })
      const shown = found.map((row) => ({
        ...row,
        state: row.rejected ? `${row.state}, rejected` : row.state,
        next: row.next ? 'next' : '',
      }))
      const columns = {
        at: 'active from',
        kind: 'kind',
        version_id: 'version',
        replaced_version_id: 'replaced',
        actor: 'actor',
        state: 'state',
        next: 'rollback',
      }
      const empty = `Nothing was active in "${base.slug}" yet: activate a version with "operator activate".`
      show(found, () => table(shown, columns, empty))
    },
  })
}
