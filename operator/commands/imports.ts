import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { createArtifactStore } from '#core/index/format/store.ts'
import { listImports } from '#core/db/corpus-lists.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { SourcesContradict } from '#law/import/report/findings.ts'
import { importReportSchema, renderImportReport } from '#law/import/report/report.ts'
import { DEFAULT_EXPOSURE_FLOOR } from '#core/domain/quota-plan.ts'
import { importCorpus } from '#operator/actions/import-corpus.ts'
import { LossesNotAccepted } from '#jobs/capture/import-captured.ts'
import type { Imported } from '#jobs/capture/import-captured.ts'
import { importNamed, knowledgeBaseNamed } from '#operator/actions/names.ts'
import { addCommandGroup } from '#operator/command-line/command.ts'
import { list, rows, text } from '#operator/command-line/inputs.ts'
import { interruptible } from '#operator/command-line/interruptible.ts'
import { addImportDraft } from './import-draft.ts'
import { addImportInit } from './import-init.ts'
import { addDatabaseCommand } from '#operator/command-line/session.ts'
import { table } from '#operator/command-line/table.ts'

const { ARTIFACT_STORE } = OPERATOR_VARIABLES
const INTERRUPTED = 'The import was interrupted: nothing is imported; run it again.'

export function addImports(program: OperatorCommand): void {
  addImport(program)
  const imports = addCommandGroup(program, 'imports', 'what was imported: list, show')
  addList(imports)
  addShow(imports)
}

function addImport(program: OperatorCommand): void {
  const command = addDatabaseCommand(program, {
    usage: 'import',
    summary: 'capture sources and report what would become passages',
    flags: {
      '--knowledge-base <slug>': 'slug or UUID',
      '--source <path>': 'a file or a folder of law, in any format that "inspect" shows, or of JSONL',
      '--mapping <file>': 'how records become passages (JSON), where no source.yaml of the folder says it',
      '--accept-loss <names>': 'losses that the report names, as it names them, separated by commas',
    },
    notes:
      'The exact bytes are kept in ARTIFACT_STORE. Nothing is dropped silently: the report says what ' +
      'was read, split and skipped, and why, with line numbers.\nA loss that neither --accept-loss nor ' +
      '"accepted_losses" of source.yaml or the mapping names refuses the import.\nThe id it prints is what "operator ' +
      'build start" takes.\nThe format of each file is recognised by its content. What the files do not state comes from the ' +
      'source.yaml of\ntheir folder, which "import init" writes.',
    examples: [
      'import --knowledge-base hsfa-rules --source ./rulebook',
      'import --knowledge-base eu-acts --source ./eu/corpus.jsonl --mapping law/import/corpus/mappings/eu.json --json',
    ],
    input: { knowledgeBase: text, source: text, mapping: text.optional(), acceptLoss: list.optional() },
    variables: { ARTIFACT_STORE },
    writes: true,
    run: async (input, { operator, config, progress, show }) => {
      const onProgress = (stage: string, done: number, total: number): void => progress.update(stage, done, total)
      const store = createArtifactStore(config.ARTIFACT_STORE)
      try {
        const imported = await interruptible(INTERRUPTED, (signal) =>
          importCorpus(operator, { ...input, store, onProgress, signal }),
        )
        show(imported, () => renderImported(imported))
      } catch (error) {
        if (error instanceof SourcesContradict && Object.keys(error.repeatedLabels).length > 0) {
          const confirmed = { repeated_labels: error.repeatedLabels }
          show(confirmed, () => JSON.stringify(confirmed, null, 2))
        }
        if (error instanceof LossesNotAccepted) show({ losses: error.losses }, () => undefined)
        throw error
      }
    },
  })
  // Options after the name of a command below belong to that command.
  command.enablePositionalOptions()
  addImportInit(command)
  addImportDraft(command)
}

function renderImported({ id, knowledge_base, report }: Imported): string {
  const build = `operator build start --import ${id} --questions FILE --wait`
  const unprotected =
    report.passages > DEFAULT_EXPOSURE_FLOOR
      ? ''
      : `Under the default plan a corpus of up to ${DEFAULT_EXPOSURE_FLOOR} passages may be copied whole: nothing but ` +
        'its rate is limited. "exposure.floors.corpus" of a plan is where serving stops.\n'
  return `${renderImportReport(report)}\n${unprotected}Import ${id} of "${knowledge_base}".\nNext: ${build}`
}

function addList(imports: OperatorCommand): void {
  addDatabaseCommand(imports, {
    usage: 'list',
    summary: 'list imports, newest first',
    flags: { '--knowledge-base <slug>': 'only those of one', '--rows <n>': 'show at most so many' },
    examples: ['imports list --knowledge-base hsfa-rules'],
    input: { knowledgeBase: text.optional(), rows },
    variables: {},
    run: async (input, { operator, show }) => {
      const base =
        input.knowledgeBase === undefined ? null : (await knowledgeBaseNamed(operator.database, input.knowledgeBase)).id
      const found = await listImports(operator.database, base, input.rows)
      const columns = {
        id: 'id',
        knowledge_base: 'knowledge base',
        sources: 'sources',
        passages: 'passages',
        skipped: 'skipped',
        created_at: 'created',
      }
      show(found, () => table(found, columns, 'There is no import here: make one with "operator import".'))
    },
  })
}

function addShow(imports: OperatorCommand): void {
  addDatabaseCommand(imports, {
    usage: 'show <import>',
    summary: 'show the report of an import again',
    examples: ['imports show 6f1c2a0e-7a38-4f4e-9c7e-0d6f6a2b9a11 --json'],
    input: { import: text },
    variables: {},
    run: async (input, { operator, show }) => {
      const found = await importNamed(operator.database, input.import)
      show(
        found,
        () =>
          `Import ${found.id} of "${found.knowledge_base}".\n${renderImportReport(importReportSchema.parse(found.report))}`,
      )
    },
  })
}
