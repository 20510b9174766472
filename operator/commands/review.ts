import { writeFile } from 'node:fs/promises'
import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { z } from 'zod'
import { createSignedStore } from '#core/index/format/store.ts'
import { readReportOfVersion } from '#core/db/imports.ts'
import { listReviews } from '#core/db/reviews.ts'
import { readVersion } from '#core/db/versions.ts'
import { changesInWords, changesOf } from '#core/domain/changes.ts'
import { ACCEPTABLE_KINDS, VERDICTS } from '#core/domain/review-statements.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { OPERATOR_BOUNDS } from '#operator/actions/bounds.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { versionNamed } from '#operator/actions/names.ts'
import { readSigningKey, readSmallFile } from '#operator/actions/reviewers.ts'
import { createReviewStatement, recordSignedReview, signReview } from '#operator/actions/reviews.ts'
import type { ReviewInput, Reviewed } from '#operator/actions/reviews.ts'
import { evaluationReportSchema } from '#jobs/evaluation/page/evaluation-report.ts'
import { verdictOf } from '#jobs/evaluation/page/verdict.ts'
import { addCommandGroup } from '#operator/command-line/command.ts'
import { addReport } from '#operator/commands/report.ts'
import { UsageError } from '#operator/command-line/failure.ts'
import { list, text } from '#operator/command-line/inputs.ts'
import { addDatabaseCommand } from '#operator/command-line/session.ts'
import { cell, fields, table } from '#operator/command-line/table.ts'
import { importLossesSchema, lossesInWords, shownLocation } from '#law/import/report/report.ts'
import { checkFiles } from '#jobs/review/files.ts'
import { readRejections } from '#jobs/review/rejections.ts'

const { ARTIFACT_STORE, MANIFEST_PUBLIC_KEY } = OPERATOR_VARIABLES
const ENTRIES_SHOWN = 5
const EXAMPLE = '6f1c2a0e-7a38-4f4e-9c7e-0d6f6a2b9a11'
const NEEDED =
  'A candidate is activated only when it passed its evaluation and enough reviewers approve the step from the active ' +
  'version to it.\nThe approval lapses when another version becomes active.'

/** The verdict of a reviewer. */
const DECISION_FLAGS = {
  '--verdict <verdict>': `${VERDICTS.join(' or ')}; a rejected version never becomes active`,
  '--note <text>': 'why; part of what is signed',
  '--accept <kinds>': `changes beyond their limits, by name: ${ACCEPTABLE_KINDS.join(', ')}`,
} as const
const note = text.max(2_000, 'must have at most 2000 characters')
const verdict = z.enum(VERDICTS, `must be ${VERDICTS.join(' or ')}`)
const accept = list
  .pipe(z.array(z.enum(ACCEPTABLE_KINDS, `must name some of ${ACCEPTABLE_KINDS.join(', ')}`)))
  .optional()
  .transform((kinds) => kinds ?? [])

export function addReview(program: OperatorCommand): void {
  const review = addCommandGroup(
    program,
    'review',
    'the decision about a candidate version: show, report, sign, statement',
  )
  addShow(review)
  addReport(review)
  addSign(review)
  addStatement(review)
}

function addShow(review: OperatorCommand): void {
  addDatabaseCommand(review, {
    usage: 'show <version>',
    summary: 'show the evaluation and the reviews of a version',
    notes:
      `${NEEDED}\n"files" are in ARTIFACT_STORE: "report" is a page for the browser, with ranking, decision and ` +
      'recall under filters, how the candidate compares with the\nactive version, and which questions were missed; ' +
      '"figures" is the same as JSON; "changes" names every change. Each is checked against its recorded digest.',
    examples: [`review show ${EXAMPLE}`],
    input: { version: text },
    variables: { ARTIFACT_STORE, MANIFEST_PUBLIC_KEY },
    run: async (input, { operator, config, show }) => {
      const version = await versionNamed(operator.database, input.version)
      const row = await readVersion(operator.database, version.id)
      const forged = new Set((await readRejections(operator.database, version.id)).forged)
      const reviews = (await listReviews(operator.database, version.id, OPERATOR_BOUNDS.operatorRowsDefault)).map(
        (one) => ({
          ...one,
          forged: forged.has(one.id),
        }),
      )
      const { id, knowledge_base, state, passed, passages, documents, facets, evaluation } = version
      const store = createSignedStore(config)
      const files = row === undefined ? [] : await checkFiles(store, row)
      const changes = changesOf(evaluation)
      const imported = importLossesSchema.parse(await readReportOfVersion(operator.database, version.id))
      const past = table(
        reviews.map((one) => ({ ...one, signed: one.forged ? 'forged' : true, note: cell(one.note) })),
        {
          created_at: 'at',
          verdict: 'verdict',
          reviewer: 'reviewer',
          signed: 'signed',
          predecessor_id: 'replaces',
          note: 'note',
        },
        `Nobody has reviewed it. Next: operator review report ${id} --out FILE.html; read it in a browser, then\n` +
          `operator review sign ${id} --key FILE --verdict approved --note TEXT`,
      )
      const shown = {
        id,
        knowledge_base,
        state,
        passed,
        changes: changes === undefined ? null : changesInWords(changes),
        import: importInWords(imported),
        passages,
        documents,
        facets,
        evaluation,
        report: store.reportFile(id),
        files: Object.fromEntries(files.map(({ file, ...checked }) => [file, `${checked.path} (${checked.state})`])),
      }
      const inWords = { ...shown, import: shortened(shown.import), evaluation: evaluationInWords(evaluation) }
      show({ ...shown, files, reviews }, () => `${fields(inWords)}\n\n${past}`)
    },
  })
}

/** What the import lost, derived or left out, in sentences. */
function importInWords(imported: z.infer<typeof importLossesSchema>): Record<string, readonly string[]> {
  return {
    losses: lossesInWords(imported.losses ?? []),
    derived_ends: (imported.derived_ends ?? []).map((end) => `${shownLocation(end)} on ${end.day}`),
    derived_values: Object.entries(imported.derived_values ?? {}).map(([name, count]) => `${name} (${count} records)`),
    left_out: (imported.omissions ?? []).map((omission) => `${shownLocation(omission)}: ${omission.text}`),
  }
}

/** Lists of a terminal name the first entries; the report and --json have all. */
function shortened(lists: Readonly<Record<string, readonly string[]>>): object {
  return Object.fromEntries(
    Object.entries(lists).map(([name, entries]) => {
      const more = entries.length - ENTRIES_SHOWN
      return [
        name,
        more > 0 ? [...entries.slice(0, ENTRIES_SHOWN), `and ${more} more, which the report lists`] : entries,
      ]
    }),
  )
}

/** The verdict and each bar; the report and --json have all figures. */
export function evaluationInWords(evaluation: unknown): unknown {
  const parsed = evaluationReportSchema.safeParse(evaluation)
  if (!parsed.success) return evaluation
  const { word, sentence } = verdictOf(parsed.data)
  const bars = parsed.data.gates
    .filter(({ group }) => group !== 'changes')
    .map(({ label, value, direction, bound, passed }) => [
      label,
      `${value ?? 'not measured'}, ${passed ? 'met' : 'missed'} (${direction === 'at_least' ? '≥' : '≤'} ${bound})`,
    ])
  return { verdict: `${word}. ${sentence}`, ...Object.fromEntries(bars) }
}

function addSign(review: OperatorCommand): void {
  addDatabaseCommand(review, {
    usage: 'sign [version]',
    summary: 'sign and record the verdict of a reviewer',
    flags: {
      '--key <file>': 'private key of the reviewer',
      ...DECISION_FLAGS,
      '--statement <file>': 'instead of a key: what "review statement" wrote',
      '--signature <file>': 'the signature of that file, 64 bytes',
      '--reviewer <name>': 'who signed it',
    },
    notes:
      `${NEEDED}\nA statement is signed elsewhere with: openssl pkeyutl -sign -rawin -inkey KEY -in STATEMENT -out ` +
      'SIGNATURE',
    examples: [
      `review sign ${EXAMPLE} --key first.pem --verdict approved --note "read the report" --accept passages_changed`,
      'review sign --statement review.json --signature review.sig --reviewer "First reviewer"',
    ],
    input: {
      version: text.optional(),
      key: text.optional(),
      verdict: verdict.optional(),
      note: note.optional(),
      accept,
      statement: text.optional(),
      signature: text.optional(),
      reviewer: text.optional(),
    },
    variables: { ARTIFACT_STORE, MANIFEST_PUBLIC_KEY },
    writes: true,
    run: async (input, { operator, config, show }) => {
      const store = createSignedStore(config)
      const { statement, signature, reviewer } = input
      const reviewed =
        statement !== undefined && signature !== undefined && reviewer !== undefined
          ? await recordSignedReview(operator, store, {
              statement: (await readSmallFile(statement)).toString('utf8'),
              signature: await readSmallFile(signature),
              reviewer,
            })
          : await signReview(operator, store, await readSigningKey(given('--key', input.key)), decisionOf(input))
      show(reviewed, () => reviewedInWords(reviewed))
    },
  })
}

function addStatement(review: OperatorCommand): void {
  addDatabaseCommand(review, {
    usage: 'statement <version>',
    summary: 'write the exact bytes that a reviewer signs, for a key that is kept elsewhere',
    flags: {
      '--reviewer <name>': 'who will sign',
      ...DECISION_FLAGS,
      '--out <file>': 'where to write it; never overwritten',
    },
    notes: NEEDED,
    examples: [
      `review statement ${EXAMPLE} --reviewer "First reviewer" --verdict approved --note "read the report" --out ` +
        'review.json',
    ],
    input: { version: text, reviewer: text, verdict, note, accept, out: text },
    variables: { ARTIFACT_STORE, MANIFEST_PUBLIC_KEY },
    run: async (input, { operator, config, show }) => {
      const store = createSignedStore(config)
      const statement = await createReviewStatement(operator, store, input.reviewer, input)
      await writeFile(input.out, statement, { flag: 'wx' }).catch((error: unknown) => {
        if (error instanceof Error && 'code' in error && error.code === 'EEXIST')
          throw new OperatorError(`${input.out} exists already and is not overwritten: name another file with --out.`)
        throw error
      })
      show(
        { file: input.out },
        () =>
          `Wrote ${input.out}. Sign its exact bytes.\nNext: operator review sign --statement ${input.out} ` +
          `--signature FILE --reviewer "${input.reviewer}"`,
      )
    },
  })
}

function decisionOf(input: {
  readonly version?: string | undefined
  readonly verdict?: ReviewInput['verdict'] | undefined
  readonly note?: string | undefined
  readonly accept: ReviewInput['accept']
}): ReviewInput {
  return {
    version: given('<version>', input.version),
    verdict: given('--verdict', input.verdict),
    note: given('--note', input.note),
    accept: input.accept,
  }
}

function given<T>(name: string, value: T | undefined): T {
  if (value === undefined)
    throw new UsageError(
      `${name} is missing: give <version>, --key, --verdict and --note, or --statement, --signature and --reviewer.`,
    )
  return value
}

function reviewedInWords({ verdict: decided, version_id: version, reviewer, accepts, ignored }: Reviewed): string {
  const forged = ignored.map((id) => `Review ${id} is ignored, because its signature does not hold.\n`).join('')
  if (decided === 'rejected') return `${forged}"${reviewer}" rejected version ${version}.`
  const accepted = accepts.map(({ kind, count }) => `${kind} (${count})`).join(', ')
  return (
    `${forged}"${reviewer}" approved version ${version}${accepted === '' ? '' : ` and accepted ${accepted}`}.\n` +
    `Next: operator activate ${version} --wait`
  )
}
