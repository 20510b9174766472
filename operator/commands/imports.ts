import { stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { listImports } from '#core/db/corpus-lists.ts'
import { DEFAULT_EXPOSURE_FLOOR } from '#core/domain/quota-plan.ts'
import { openArtifactStore } from '#core/index/format/store.ts'
import { STORE_SETTINGS } from '#core/index/settings.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { LossesNotAccepted, type Imported } from '#jobs/capture/import-captured.ts'
import { draftDocument } from '#law/import/corpus/draft-document.ts'
import { SourcesContradict } from '#law/import/report/findings.ts'
import { DRAFT_ENDING } from '#law/import/record/originals.ts'
import { proposeSource } from '#law/import/corpus/propose-source.ts'
import { importReportSchema, renderImportReport } from '#law/import/report/report.ts'
import { SOURCE_YAML } from '#law/sources/list.ts'
import { importCorpus } from '#operator/actions/import-corpus.ts'
import { idOf, importNamed, knowledgeBaseNamed } from '#operator/actions/names.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { commaList, option, rows, text } from '#operator/command-line/inputs.ts'
import { interruptible } from '#operator/command-line/wait.ts'
import { change, group, list, offline, verb } from '#operator/command-line/verbs.ts'

const INTERRUPTED = 'The import was interrupted: nothing is imported; run it again.'

const init = offline(
  'init <folder>',
  'write source.yaml for a folder: what was recognised, and what its files do not state',
  {
    notes:
      'The file is for an editor to correct: an empty value states nothing. For JSONL it proposes how records become\n' +
      'passages. Nothing else is stored, and no service is needed.',
    input: { folder: text },
    async run({ folder }, { progress }) {
      const path = join(folder, SOURCE_YAML)
      if ((await stat(folder).catch(() => undefined))?.isDirectory() !== true)
        throw new OperatorError(`${folder} is not a folder: name the folder of the sources.`)
      const { yaml, sentences } = await proposeSource(folder, (done, total) => progress.update('reading', done, total))
      await writeNew(path, yaml, 'remove an earlier one')
      const next = `Next: correct ${path}, then operator import --knowledge-base SLUG --source ${folder}`
      return [{ path, missing: sentences }, [`Wrote ${path}.`, ...sentences, next].join('\n')]
    },
  },
)

const draft = offline('draft <file>', 'write a Markdown draft of a PDF or a Word document, for an editor to correct', {
  notes:
    'The draft stands beside the file, as FILE.draft.md: provisions as recognised, with marks of pages and doubts as\n' +
    'comments. Once it is corrected, "import" reads it in place of the file, and keeps the place of each passage in\n' +
    'both. No service is needed.',
  input: { file: text },
  async run({ file }) {
    const { markdown, provisions, doubts } = await draftDocument(file, basename(file))
    const path = `${file}${DRAFT_ENDING}`
    await writeNew(path, markdown, 'remove an earlier draft')
    return [
      { path, provisions, doubts },
      `Wrote ${path}. Provisions: ${provisions}. Doubts to look at: ${doubts}.\n` +
        'Next: correct it; what its head leaves empty comes from the source.yaml of the folder. Then operator import',
    ]
  },
})

async function writeNew(path: string, contents: string, first: string): Promise<void> {
  await writeFile(path, contents, { flag: 'wx' }).catch((cause: unknown) => {
    throw new OperatorError(`${path} cannot be written: ${first}, or check the rights.`, { cause })
  })
}

export const commands: Commands = [
  change('import', 'capture sources and report what would become passages', {
    notes:
      'The exact bytes are kept in ARTIFACT_STORE. Nothing is dropped silently: the report says what ' +
      'was read, split and skipped, and why, with line numbers.\nA loss that neither --accept-loss nor ' +
      '"accepted_losses" of source.yaml or the mapping names refuses the import.\nThe id it prints is what "operator ' +
      'build start" takes.\nThe format of each file is recognised by its content. What the files do not state comes from the ' +
      'source.yaml of\ntheir folder, which "import init" writes.',
    below: [init, draft],
    input: {
      knowledgeBase: option('<slug>', 'slug or UUID', text),
      source: option('<path>', 'a file or a folder of law, in any format that "inspect" shows, or of JSONL', text),
      mapping: option('<file>', 'how records become passages (JSON), where no source.yaml of the folder says it'),
      acceptLoss: option(
        '<names>',
        'losses that the report names, as it names them, separated by commas',
        commaList.optional(),
      ),
    },
    variables: STORE_SETTINGS,
    async run(input, { operator, config, progress, show }) {
      const onProgress = progress.update.bind(progress)
      const store = openArtifactStore(config)
      try {
        const imported = await interruptible(INTERRUPTED, (signal) =>
          importCorpus(operator, { ...input, store, onProgress, signal }),
        )
        return [imported, importedInWords(imported)]
      } catch (error) {
        if (error instanceof SourcesContradict && Object.keys(error.repeatedLabels).length > 0) {
          const confirmed = { repeated_labels: error.repeatedLabels }
          show(confirmed, JSON.stringify(confirmed, null, 2))
        }
        if (error instanceof LossesNotAccepted) show({ losses: error.losses }, undefined)
        throw error
      }
    },
  }),
  group('imports', 'what was imported: list, show', [
    list('list', 'list imports, newest first', {
      input: { knowledgeBase: option('<slug>', 'only those of one'), rows },
      read: async (input, { database }) =>
        await listImports(database, await idOf(knowledgeBaseNamed, database, input.knowledgeBase), input.rows),
      columns: 'id knowledge_base sources passages skipped created_at',
      empty: 'There is no import here: make one with "operator import".',
    }),
    verb('show <import>', 'show the report of an import again', {
      input: { import: text },
      async run(input, { database }) {
        const found = await importNamed(database, input.import)
        const { id, knowledge_base: base, report } = found
        return [found, () => `Import ${id} of "${base}".\n${renderImportReport(importReportSchema.parse(report))}`]
      },
    }),
  ]),
]

function importedInWords({ id, knowledge_base, report }: Imported): string {
  const unprotected =
    report.passages > DEFAULT_EXPOSURE_FLOOR
      ? ''
      : `Under the default plan a corpus of up to ${DEFAULT_EXPOSURE_FLOOR} passages may be copied whole: nothing but ` +
        'its rate is limited. "exposure.floors.corpus" of a plan is where serving stops.\n'
  const next = `Next: operator build start --import ${id} --questions FILE --wait`
  return `${renderImportReport(report)}\n${unprotected}Import ${id} of "${knowledge_base}".\n${next}`
}
