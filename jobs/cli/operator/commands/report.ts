import type { Command } from 'commander'
import { createArtifactStore } from '#core/index/format/store.ts'
import { OPERATOR_VARIABLES } from '#jobs/config.ts'
import { copyReport, readReport } from '#jobs/cli/operator/actions/report.ts'
import { text } from '#jobs/cli/operator/inputs.ts'
import { verb } from '#jobs/cli/operator/session.ts'

const { ARTIFACT_STORE } = OPERATOR_VARIABLES

/** Adds `review report`, which brings the page out of an artifact store that the reviewer cannot open. */
export function addReport(review: Command): void {
  verb(review, {
    usage: 'report <version>',
    summary: 'copy the evaluation report of a version to a file, byte for byte',
    flags: { '--out <file>': 'a file that does not exist yet, or - for standard output' },
    notes: 'The report is one HTML page without scripts or links to other hosts: open the copy in a browser.',
    examples: [
      'review report 6f1c2a0e-7a38-4f4e-9c7e-0d6f6a2b9a11 --out report.html',
      'review report 6f1c2a0e-7a38-4f4e-9c7e-0d6f6a2b9a11 --out -',
    ],
    input: { version: text, out: text },
    variables: { ARTIFACT_STORE },
    run: async (input, { operator, config, show, write }) => {
      const store = createArtifactStore(config.ARTIFACT_STORE)
      if (input.out === '-') {
        const { page } = await readReport(operator, store, input.version)
        return await write(page)
      }
      const copied = await copyReport(operator, store, { version: input.version, file: input.out })
      show(copied, () => `${copied.file} has the report of version ${copied.version_id}: open it in a browser.`)
    },
  })
}
