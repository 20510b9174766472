import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { z } from 'zod'
import { createSignedStore } from '#core/index/format/store.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { copyReport, reportSource, streamReport } from '#operator/actions/report.ts'
import { text } from '#operator/command-line/inputs.ts'
import { addDatabaseCommand } from '#operator/command-line/session.ts'
import { REVIEWED_FILES } from '#jobs/review/files.ts'

const { ARTIFACT_STORE, MANIFEST_PUBLIC_KEY } = OPERATOR_VARIABLES

/** Adds `review report`, which brings what reviewers read out of an artifact store that they cannot open. */
export function addReport(review: OperatorCommand): void {
  addDatabaseCommand(review, {
    usage: 'report <version>',
    summary: 'copy the evaluation report of a version to a file, byte for byte',
    flags: {
      '--out <file>': 'a file that does not exist yet, or - for standard output',
      '--part <part>': `${REVIEWED_FILES.join(', ')}; default: report`,
    },
    notes:
      'The report is one HTML page that loads nothing from other hosts: open the copy in a browser.\n"figures" ' +
      'is the same as JSON, "changes" names every change against the active version, one per line. The bytes and ' +
      'the artifact are checked against the digests that were recorded with the version.',
    examples: [
      'review report 6f1c2a0e-7a38-4f4e-9c7e-0d6f6a2b9a11 --out report.html',
      'review report 6f1c2a0e-7a38-4f4e-9c7e-0d6f6a2b9a11 --part changes --out -',
    ],
    input: {
      version: text,
      out: text,
      part: z.enum(REVIEWED_FILES, `must be one of ${REVIEWED_FILES.join(', ')}`).default('report'),
    },
    variables: { ARTIFACT_STORE, MANIFEST_PUBLIC_KEY },
    run: async (input, { operator, config, show, write }) => {
      const source = await reportSource(operator, createSignedStore(config), input)
      if (input.out === '-') return await streamReport(source.path, write)
      const copied = await copyReport(source, input.out)
      show(copied, () => `${copied.file} has the ${input.part} file of version ${copied.version_id}.`)
    },
  })
}
