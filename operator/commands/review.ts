import { z } from 'zod'
import { readReportOfVersion } from '#core/db/imports.ts'
import { listReviews } from '#core/db/reviews.ts'
import { readVersion } from '#core/db/versions.ts'
import { changesInWords, changesOf } from '#core/domain/changes.ts'
import { ACCEPTABLE_KINDS, VERDICTS } from '#core/domain/review-statements.ts'
import { createSignedStore } from '#core/index/format/store.ts'
import { STORE_SETTINGS } from '#core/index/settings.ts'
import { evaluationReportSchema } from '#jobs/evaluation/page/evaluation-report.ts'
import { verdictOf } from '#jobs/evaluation/page/verdict.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { REVIEWED_FILES, checkFiles } from '#jobs/review/files.ts'
import { readRejections } from '#jobs/review/rejections.ts'
import { importLossesSchema, lossesInWords, shownLocation } from '#law/import/report/report.ts'
import { OPERATOR_BOUNDS } from '#operator/actions/operator.ts'
import { versionNamed } from '#operator/actions/names.ts'
import { copyReport, reportSource, streamReport } from '#operator/actions/report.ts'
import { readSigningKey, readSmallFile, writeNew } from '#operator/actions/reviewers.ts'
import {
  createReviewStatement,
  recordSignedReview,
  signReview,
  standingOf,
  type Reviewed,
} from '#operator/actions/reviews.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { UsageError } from '#operator/command-line/failure.ts'
import { commaList, option, text } from '#operator/command-line/inputs.ts'
import { fields, table } from '#operator/command-line/table.ts'
import { change, group, verb } from '#operator/command-line/verbs.ts'

const { MANIFEST_PUBLIC_KEY } = OPERATOR_VARIABLES
const variables = { ...STORE_SETTINGS, MANIFEST_PUBLIC_KEY }
const ENTRIES_SHOWN = 5
const NEEDED =
  'A candidate is activated only when it passed its evaluation and enough reviewers approve the step from the active ' +
  'version to it.\nThe approval lapses when another version becomes active.'

const verdict = z.enum(VERDICTS, `must be ${VERDICTS.join(' or ')}`)
const note = text.max(2_000, 'must have at most 2000 characters')
const VERDICT = ['<verdict>', `${VERDICTS.join(' or ')}; a rejected version never becomes active`] as const
const NOTE = ['<text>', 'why; part of what is signed'] as const
const accept = option(
  '<kinds>',
  `changes beyond their limits, by name: ${ACCEPTABLE_KINDS.join(', ')}`,
  commaList
    .pipe(z.array(z.enum(ACCEPTABLE_KINDS, `must name some of ${ACCEPTABLE_KINDS.join(', ')}`)))
    .optional()
    .transform((kinds) => kinds ?? []),
)

export const commands: Commands = [
  group('review', 'the decision about a candidate version: show, report, sign, statement', [
    verb('show <version>', 'show the evaluation and the reviews of a version', {
      notes:
        `${NEEDED}\n"files" are in ARTIFACT_STORE: "report" is a page for the browser, with ranking, decision and ` +
        'recall under filters, how the candidate compares with the\nactive version, and which questions were missed; ' +
        '"figures" is the same as JSON; "changes" names every change. Each is checked against its recorded digest.',
      input: { version: text },
      variables,
      async run(input, { database, config }) {
        const version = await versionNamed(database, input.version)
        const row = await readVersion(database, version.id)
        const forged = new Set((await readRejections(database, version.id)).forged)
        const recorded = await listReviews(database, version.id, OPERATOR_BOUNDS.operatorRowsDefault)
        const reviews = recorded.map((one) => ({ ...one, forged: forged.has(one.id) }))
        const { id, knowledge_base, state, passed, passages, documents, facets, evaluation } = version
        const store = createSignedStore(config)
        const files = row === undefined ? [] : await checkFiles(store, row)
        const changes = changesOf(evaluation)
        const shown = {
          id,
          knowledge_base,
          state,
          passed,
          built_by: row?.started_by ?? null,
          import_id: row?.import_id ?? null,
          standing: (await standingOf(database, id)) ?? null,
          changes: changes === undefined ? null : changesInWords(changes),
          import: importInWords(importLossesSchema.parse(await readReportOfVersion(database, id))),
          passages,
          documents,
          facets,
          evaluation,
          report: store.reportFile(id),
          files: Object.fromEntries(files.map(({ file, ...checked }) => [file, `${checked.path} (${checked.state})`])),
        }
        const inWords = { ...shown, import: shortened(shown.import), evaluation: evaluationInWords(evaluation) }
        return [{ ...shown, files, reviews }, () => `${fields(inWords)}\n\n${reviewsInWords(id, reviews)}`]
      },
    }),
    verb('report <version>', 'copy the evaluation report of a version to a file, byte for byte', {
      notes:
        'The report is one HTML page that loads nothing from other hosts: open the copy in a browser.\n"figures" ' +
        'is the same as JSON, "changes" names every change against the active version, one per line. The bytes and ' +
        'the artifact are checked against the digests that were recorded with the version.',
      input: {
        version: text,
        out: option('<file>', 'a file that does not exist yet, or - for standard output', text),
        part: option(
          '<part>',
          `${REVIEWED_FILES.join(', ')}; default: report`,
          z.enum(REVIEWED_FILES, `must be one of ${REVIEWED_FILES.join(', ')}`).default('report'),
        ),
      },
      variables,
      async run(input, { operator, config, write }) {
        const source = await reportSource(operator, createSignedStore(config), input)
        if (input.out === '-') {
          await streamReport(source.path, write)
          return undefined
        }
        const copied = await copyReport(source, input.out)
        return [copied, `${copied.file} has the ${input.part} file of version ${copied.version_id}.`]
      },
    }),
    change('sign [version]', 'sign and record the verdict of a reviewer', {
      notes:
        `${NEEDED}\nA statement is signed elsewhere with "node sign-review.mjs", one file that each trace publishes, or ` +
        'with: openssl pkeyutl -sign -rawin -inkey KEY -in STATEMENT -out SIGNATURE',
      input: {
        version: text.optional(),
        key: option('<file>', 'private key of the reviewer'),
        verdict: option(...VERDICT, verdict.optional()),
        note: option(...NOTE, note.optional()),
        accept,
        statement: option('<file>', 'instead of a key: what "review statement" wrote'),
        signature: option('<file>', 'the signature of that file, 64 bytes'),
        reviewer: option('<name>', 'who signed it'),
      },
      variables,
      async run({ statement, signature, reviewer, ...input }, { operator, config }) {
        const store = createSignedStore(config)
        const reviewed =
          statement !== undefined && signature !== undefined && reviewer !== undefined
            ? await recordSignedReview(operator, store, {
                statement: (await readSmallFile(statement)).toString('utf8'),
                signature: await readSmallFile(signature),
                reviewer,
              })
            : await signReview(operator, store, await readSigningKey(given('--key', input.key)), {
                version: given('<version>', input.version),
                verdict: given('--verdict', input.verdict),
                note: given('--note', input.note),
                accept: input.accept,
              })
        return [reviewed, reviewedInWords(reviewed)]
      },
    }),
    verb('statement <version>', 'write the exact bytes that a reviewer signs, for a key that is kept elsewhere', {
      notes: NEEDED,
      input: {
        version: text,
        reviewer: option('<name>', 'who will sign', text),
        verdict: option(...VERDICT, verdict),
        note: option(...NOTE, note),
        accept,
        out: option('<file>', 'where to write it; never overwritten', text),
      },
      variables,
      async run({ out, reviewer, ...input }, { operator, config }) {
        const statement = await createReviewStatement(operator, createSignedStore(config), reviewer, input)
        await writeNew(out, statement)
        const next = `operator review sign --statement "${out}" --signature FILE --reviewer "${reviewer}"`
        const sign = `node sign-review.mjs --statement ${out} --report FILE --key FILE`
        return [{ file: out }, `Wrote ${out}. The reviewer signs its exact bytes: ${sign}\nNext: ${next}`]
      },
    }),
  ]),
]

type Recorded = Awaited<ReturnType<typeof listReviews>>[number] & { readonly forged: boolean }

function reviewsInWords(version: string, reviews: readonly Recorded[]): string {
  return table(
    reviews.map((one) => ({ ...one, signed: one.forged ? 'forged' : true })),
    'created_at=at verdict reviewer signed predecessor_id=replaces note',
    `Nobody has reviewed it. Next: operator review report ${version} --out FILE.html; read it in a browser, then sign it.`,
  )
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
    .filter((gate) => gate.group !== 'changes')
    .map(({ label, value, direction, bound, passed }) => [
      label,
      `${value ?? 'not measured'}, ${passed ? 'met' : 'missed'} (${direction === 'at_least' ? '≥' : '≤'} ${bound})`,
    ])
  return { verdict: `${word}. ${sentence}`, ...Object.fromEntries(bars) }
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
