import type { Command } from 'commander'
import { listKnowledgeBases } from '#core/db/knowledge-bases.ts'
import { createKnowledgeBase } from '#jobs/cli/operator/actions/organizations.ts'
import { noun } from '#jobs/cli/operator/command.ts'
import { rows, text } from '#jobs/cli/operator/inputs.ts'
import { verb } from '#jobs/cli/operator/session.ts'
import { table } from '#jobs/cli/operator/table.ts'

export function addKnowledgeBases(program: Command): void {
  const bases = noun(program, 'knowledge-bases', 'collections a client can be entitled to: create, list')
  verb(bases, {
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
  verb(bases, {
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
}
