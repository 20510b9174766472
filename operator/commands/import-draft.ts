import { writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { OperatorError } from '#core/platform/errors.ts'
import { draftDocument } from '#law/import/corpus/draft-document.ts'
import { DRAFT_ENDING } from '#law/import/record/originals.ts'
import { addCommand } from '#operator/command-line/command.ts'
import { text } from '#operator/command-line/inputs.ts'
import type { OperatorCommand } from '#operator/command-line/operator-command.ts'

export function addImportDraft(imports: OperatorCommand): void {
  addCommand(
    imports,
    {
      usage: 'draft <file>',
      summary: 'write a Markdown draft of a PDF or a Word document, for an editor to correct',
      notes:
        'The draft stands beside the file, as FILE.draft.md: provisions as recognised, with marks of pages and doubts as\n' +
        'comments. Once it is corrected, "import" reads it in place of the file, and keeps the place of each passage in\n' +
        'both. No service is needed.',
      examples: ['import draft ./law/guidance.pdf'],
      input: { file: text },
    },
    {},
    async ({ file }, { show }) => {
      const { markdown, provisions, doubts } = await draftDocument(file, basename(file))
      const path = `${file}${DRAFT_ENDING}`
      await writeFile(path, markdown, { flag: 'wx' }).catch((cause: unknown) => {
        throw new OperatorError(`${path} cannot be written: remove an earlier draft, or check the rights.`, { cause })
      })
      show({ path, provisions, doubts }, () =>
        [
          `Wrote ${path}. Provisions: ${provisions}. Doubts to look at: ${doubts}.`,
          'Next: correct it; what its head leaves empty comes from the source.yaml of the folder. Then operator import',
        ].join('\n'),
      )
    },
  )
}
