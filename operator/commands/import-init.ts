import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { OperatorError } from '#core/platform/errors.ts'
import { proposeSource } from '#law/import/corpus/propose-source.ts'
import { addCommand } from '#operator/command-line/command.ts'
import { text } from '#operator/command-line/inputs.ts'
import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { SOURCE_YAML } from '#law/sources/list.ts'

export function addImportInit(imports: OperatorCommand): void {
  addCommand(
    imports,
    {
      usage: 'init <folder>',
      summary: 'write source.yaml for a folder: what was recognised, and what its files do not state',
      notes:
        'The file is for an editor to correct: an empty value states nothing. For JSONL it proposes how records become\n' +
        'passages. Nothing else is stored, and no service is needed.',
      examples: ['import init ./law'],
      input: { folder: text },
    },
    {},
    async ({ folder }, { show, progress }) => {
      const path = join(folder, SOURCE_YAML)
      if ((await stat(folder).catch(() => undefined))?.isDirectory() !== true)
        throw new OperatorError(`${folder} is not a folder: name the folder of the sources.`)
      const { yaml, sentences } = await proposeSource(folder, (done, total) => progress.update('reading', done, total))
      await writeFile(path, yaml, { flag: 'wx' }).catch((cause: unknown) => {
        throw new OperatorError(`${path} cannot be written: remove an earlier one, or check the rights.`, { cause })
      })
      show({ path, missing: sentences }, () =>
        [
          `Wrote ${path}.`,
          ...sentences,
          `Next: correct ${path}, then operator import --knowledge-base SLUG --source ${folder}`,
        ].join('\n'),
      )
    },
  )
}
