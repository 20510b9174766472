import type { Command } from 'commander'
import { changesInWords, changesOf } from '#core/domain/changes.ts'
import { createArtifactStore } from '#core/index/format/store.ts'
import { listReviews } from '#core/db/reviews.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import { OPERATOR_VARIABLES } from '#jobs/config.ts'
import { versionNamed } from '#jobs/cli/operator/actions/names.ts'
import { reviewVersion } from '#jobs/cli/operator/actions/reviews.ts'
import { noun } from '#jobs/cli/operator/command.ts'
import { addReport } from '#jobs/cli/operator/commands/report.ts'
import { text } from '#jobs/cli/operator/inputs.ts'
import { verb } from '#jobs/cli/operator/session.ts'
import { cell, fields, table } from '#jobs/cli/operator/table.ts'

const { ARTIFACT_STORE } = OPERATOR_VARIABLES
const NEEDED = 'A candidate is activated only when it passed its evaluation and its newest review approves it.'

export function addReview(program: Command): void {
  const review = noun(program, 'review', 'the decision about a candidate version: show, report, approve, reject')
  addShow(review)
  addReport(review)
  addVerdict(review, 'approve', 'approved', 'approve a candidate that passed its evaluation')
  addVerdict(review, 'reject', 'rejected', 'reject a version; a candidate is rejected for good')
}

function addShow(review: Command): void {
  verb(review, {
    usage: 'show <version>',
    summary: 'show the evaluation and the reviews of a version',
    notes:
      `${NEEDED}\n"report" is a page in ARTIFACT_STORE, with the same as JSON beside it: ranking, ` +
      `decision and recall under filters with their intervals and gates, how the\ncandidate compares ` +
      'with the active version, and which questions were missed. Open it in a browser.',
    examples: ['review show 6f1c2a0e-7a38-4f4e-9c7e-0d6f6a2b9a11'],
    input: { version: text },
    variables: { ARTIFACT_STORE },
    run: async (input, { operator, config, show }) => {
      const version = await versionNamed(operator.database, input.version)
      const reviews = await listReviews(operator.database, version.id, BOUNDS.operatorRowsDefault)
      const { id, knowledge_base, state, passed, passages, documents, facets, evaluation } = version
      const readable = reviews.map((row) => ({ ...row, note: cell(row.note) }))
      const past = table(
        readable,
        { created_at: 'at', verdict: 'verdict', reviewer: 'reviewer', note: 'note' },
        `Nobody has reviewed it. Next: operator review approve ${id} --reviewer NAME --note TEXT`,
      )
      const changes = changesOf(evaluation)
      const shown = {
        id,
        knowledge_base,
        state,
        passed,
        changes: changes === undefined ? null : changesInWords(changes),
        passages,
        documents,
        facets,
        evaluation,
        report: createArtifactStore(config.ARTIFACT_STORE).reportFile(id),
      }
      show({ ...shown, reviews }, () => `${fields(shown)}\n\n${past}`)
    },
  })
}

function addVerdict(review: Command, name: string, verdict: 'approved' | 'rejected', summary: string): void {
  verb(review, {
    usage: `${name} <version>`,
    summary,
    flags: { '--reviewer <name>': 'who read the evaluation', '--note <text>': 'why; kept with the review' },
    notes: NEEDED,
    examples: [
      `review ${name} 6f1c2a0e-7a38-4f4e-9c7e-0d6f6a2b9a11 --reviewer "legal review" --note ` +
        '"checked the missed questions"',
    ],
    input: { version: text, reviewer: text, note: text },
    variables: {},
    writes: true,
    run: async (input, { operator, show }) => {
      const reviewed = await reviewVersion(operator, { ...input, verdict })
      show(reviewed, () =>
        verdict === 'approved'
          ? `Approved version ${reviewed.version_id}.\nNext: operator activate ${reviewed.version_id} --wait`
          : `Rejected version ${reviewed.version_id}.`,
      )
    },
  })
}
