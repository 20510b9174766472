import { listHistory, readRollbackPath } from '#core/db/activation-history.ts'
import { listVersions } from '#core/db/corpus-lists.ts'
import { rejectedStep } from '#jobs/review/rejections.ts'
import { idOf, knowledgeBaseNamed, versionNamed } from '#operator/actions/names.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { option, rows, text } from '#operator/command-line/inputs.ts'
import { fields, table } from '#operator/command-line/table.ts'
import { group, list, verb } from '#operator/command-line/verbs.ts'

export const commands: Commands = [
  group('versions', 'immutable corpus versions: list, show, history', [
    verb('history <knowledge-base>', 'list what was active, newest first, and where a rollback goes', {
      notes:
        'A rollback returns to the activation marked "next". A version that was left is built again.\n' +
        'A version that was rejected since is passed over.',
      input: { 'knowledge-base': text, rows },
      async run(input, { database }) {
        const base = await knowledgeBaseNamed(database, input['knowledge-base'])
        const rejected = rejectedStep(database)
        const { target } = await readRollbackPath(database, base.id, rejected)
        const found: Step[] = []
        for (const { claimed, ...row } of await listHistory(database, base.id, input.rows))
          found.push({ ...row, rejected: await rejected({ ...row, claimed }), next: row.sequence === target?.sequence })
        const empty = `Nothing was active in "${base.slug}" yet: activate a version with "operator activate".`
        return [found, () => table(found.map(shownStep), STEP_COLUMNS, empty)]
      },
    }),
    list('list', 'list versions and their states, newest first', {
      input: { knowledgeBase: option('<slug>', 'only those of one'), rows },
      async read(input, { database }) {
        const base = await idOf(knowledgeBaseNamed, database, input.knowledgeBase)
        const found = await listVersions(database, base, input.rows)
        return found.map(({ facets: _facets, evaluation: _evaluation, ...row }) => row)
      },
      columns: 'id knowledge_base state passed verdict=review passages documents profile_id created_at',
      empty: 'There is no version here: build one with "operator build start".',
    }),
    verb('show <version>', 'show a version with its profile, facets and evaluation', {
      input: { version: text },
      async run(input, { database }) {
        const version = await versionNamed(database, input.version)
        return [version, fields(version)]
      },
    }),
  ]),
]

const STEP_COLUMNS = 'at=active_from kind version_id replaced_version_id=replaced actor state next=rollback'

type Step = Omit<Awaited<ReturnType<typeof listHistory>>[number], 'claimed'> & {
  readonly rejected: boolean
  readonly next: boolean
}

function shownStep(step: Step) {
  const { state, rejected, next, ...row } = step
  return { ...row, state: rejected ? `${state}, rejected` : state, next: next ? 'next' : '' }
}
