import type { Command } from 'commander'
import { listVersions } from '#core/db/corpus-lists.ts'
import { knowledgeBaseNamed, versionNamed } from '#jobs/cli/operator/actions/names.ts'
import { noun } from '#jobs/cli/operator/command.ts'
import { rows, text } from '#jobs/cli/operator/inputs.ts'
import { verb } from '#jobs/cli/operator/session.ts'
import { fields, table } from '#jobs/cli/operator/table.ts'

export function addVersions(program: Command): void {
  const versions = noun(program, 'versions', 'immutable corpus versions: list, show')
  verb(versions, {
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
  verb(versions, {
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
