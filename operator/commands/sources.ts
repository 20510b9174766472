import { lastCaptures, listSources } from '#core/db/sources.ts'
import type { SourceRow } from '#core/db/sources.ts'
import { createArtifactStore } from '#core/index/format/store.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { CAPTURE_BOUNDS } from '#jobs/capture/bounds.ts'
import { captureSource } from '#jobs/capture/pipeline.ts'
import type { Captured } from '#jobs/capture/pipeline.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { knowledgeBaseNamed } from '#operator/actions/names.ts'
import type { Operator } from '#operator/actions/operator.ts'
import { addSource, removeSourceNamed, sourceNamed } from '#operator/actions/sources.ts'
import { addCommandGroup } from '#operator/command-line/command.ts'
import { list, rows, text, whole } from '#operator/command-line/inputs.ts'
import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { withQueues } from '#operator/command-line/queues.ts'
import { addDatabaseCommand } from '#operator/command-line/session.ts'
import { fields, table } from '#operator/command-line/table.ts'
import { enqueueBuild } from '#jobs/platform/queues.ts'
import { z } from 'zod'

const { ARTIFACT_STORE, REDIS_URL, SOURCE_ROOTS } = OPERATOR_VARIABLES
const KNOWLEDGE_BASE = { '--knowledge-base <slug>': 'slug or UUID' }

export function addSources(program: OperatorCommand): void {
  const sources = addCommandGroup(program, 'sources', 'where law is captured from: add, list, show, remove')
  addAdd(sources)
  addDatabaseCommand(sources, {
    usage: 'list',
    summary: 'list sources',
    flags: { ...KNOWLEDGE_BASE, '--rows <n>': 'show at most so many' },
    examples: ['sources list', 'sources list --knowledge-base us-rules'],
    input: { knowledgeBase: text.optional(), rows },
    variables: {},
    run: async (input, { operator, show }) => {
      const found = await listSources(operator.database, await baseId(operator, input.knowledgeBase), input.rows)
      const columns = {
        name: 'name',
        knowledge_base: 'knowledge base',
        location: 'from',
        every_minutes: 'every minutes',
        last_captured_at: 'last capture',
        last_outcome: 'outcome',
      }
      const shown = found.map(shownSource)
      show(shown, () => table(shown, columns, 'There is no source here: add one with "operator sources add".'))
    },
  })
  addDatabaseCommand(sources, {
    usage: 'show <source>',
    summary: 'show a source and its last captures',
    flags: KNOWLEDGE_BASE,
    examples: ['sources show title-12'],
    input: { source: text, knowledgeBase: text.optional() },
    variables: {},
    run: async (input, { operator, show }) => {
      const source = await named(operator, input.source, input.knowledgeBase)
      const captures = await lastCaptures(operator.database, source.id, CAPTURE_BOUNDS.capturesShownMax)
      const shown = captures.map((each) => ({
        ...each,
        captured_at: each.captured_at.toISOString(),
        files: each.files,
      }))
      const columns = { captured_at: 'captured', outcome: 'outcome', files: 'files', message: 'why' }
      const counted = shown.map((each) => ({ ...each, files: each.files?.length ?? null }))
      show({ ...shownSource(source), captures: shown }, () =>
        [
          fields(shownSource(source)),
          '',
          table(counted, columns, 'Nothing is captured yet: see "operator capture".'),
        ].join('\n'),
      )
    },
  })
  addRemove(sources)
}

function addRemove(sources: OperatorCommand): void {
  addDatabaseCommand(sources, {
    usage: 'remove <source>',
    summary: 'capture a source no more; what was imported stays',
    flags: KNOWLEDGE_BASE,
    examples: ['sources remove title-12'],
    input: { source: text, knowledgeBase: text.optional() },
    variables: {},
    writes: true,
    run: async (input, { operator, show }) => {
      const source = await named(operator, input.source, input.knowledgeBase)
      await removeSourceNamed(operator, source)
      show(shownSource(source), () => `Removed source "${source.name}" of "${source.knowledge_base}".`)
    },
  })
}

function addAdd(sources: OperatorCommand): void {
  addDatabaseCommand(sources, {
    usage: 'add <name>',
    summary: 'add a file, a folder or an HTTPS address to capture',
    flags: {
      ...KNOWLEDGE_BASE,
      '--from <place>': 'path of a file or folder, or an https:// address',
      '--source-yaml <file>':
        'what the files do not state, read now; default: the source.yaml of the folder, read at each capture',
      '--mapping <file>': 'how records of JSONL become passages (JSON)',
      '--allow-host <hosts>': 'hosts to which the address may redirect, separated by commas',
      '--allow-private': 'an address of a private network may answer, also by plain HTTP',
      '--every-minutes <n>': 'capture again so often; default: only with "operator capture"',
    },
    notes:
      'Only the host of the address and those of --allow-host are asked. Each address is checked after its name is\n' +
      'resolved, and at each redirect. On a schedule, a path is captured only below SOURCE_ROOTS of the job worker, and\n' +
      'no link is followed. All sources of a knowledge base are imported together, with one mapping.',
    examples: [
      'sources add rulebook --knowledge-base hsfa-rules --from ./rulebook',
      'sources add title-12 --knowledge-base us-rules --from https://law.example/title-12.xml --every-minutes 1440',
    ],
    input: {
      name: text,
      knowledgeBase: text,
      from: text,
      sourceYaml: text.optional(),
      mapping: text.optional(),
      allowHost: list.optional(),
      allowPrivate: z.boolean().optional(),
      everyMinutes: whole(CAPTURE_BOUNDS.everyMinutesMin, CAPTURE_BOUNDS.everyMinutesMax).optional(),
    },
    variables: { SOURCE_ROOTS },
    writes: true,
    run: async (input, { operator, config, show }) => {
      const added = await addSource(operator, { ...input, roots: config.SOURCE_ROOTS })
      show(
        added,
        () => `Added source "${added.name}" of "${added.knowledge_base}".\nNext: operator capture ${added.name}`,
      )
    },
  })
}

export function addCapture(program: OperatorCommand): void {
  addDatabaseCommand(program, {
    usage: 'capture [sources...]',
    summary: 'capture sources now; where bytes changed, import them and build a candidate',
    flags: { '--knowledge-base <slug>': 'only sources of this one' },
    notes:
      'Without names it captures all sources. The exact bytes are kept in ARTIFACT_STORE. A capture that fails changes\n' +
      'nothing: the last good one stays in force. The build has the parameters of the newest one of the knowledge base.',
    examples: ['capture', 'capture title-12 --knowledge-base us-rules'],
    input: { sources: z.array(text).default([]), knowledgeBase: text.optional() },
    variables: { ARTIFACT_STORE, REDIS_URL },
    writes: true,
    run: async (input, { operator, config, show, progress }) => {
      const id = await baseId(operator, input.knowledgeBase)
      const store = createArtifactStore(config.ARTIFACT_STORE)
      const wanted =
        input.sources.length === 0
          ? await listSources(operator.database, id, CAPTURE_BOUNDS.sourcesMax)
          : await Promise.all(input.sources.map((name) => sourceNamed(operator.database, name, id)))
      const captured: Captured[] = []
      await withQueues(config.REDIS_URL, async (open) => {
        for (const [index, source] of wanted.entries()) {
          progress.update(`capturing ${source.name}`, index, wanted.length)
          const onProgress = progress.update.bind(progress)
          const one = await captureSource({ ...operator, store, roots: 'own rights', onProgress }, source)
          captured.push(one)
          // A worker finds a build whose job is missing.
          if (one.build_id !== null) await enqueueBuild(open('build'), one.build_id).catch(() => undefined)
        }
      })
      show(captured, () => capturedInWords(captured))
      const failed = captured.filter(({ outcome }) => outcome === 'failed')
      if (failed.length > 0)
        throw new OperatorError(
          `${failed.length} of ${captured.length} captures failed: the last good ones stay in force.`,
        )
    },
  })
}

/** A table, then what a sentence says of a source: a report of losses has many lines. */
function capturedInWords(captured: readonly Captured[]): string {
  const columns = { source: 'source', outcome: 'outcome', files: 'files', build_id: 'build' }
  const sentences = captured.flatMap(({ source, message, build_id: build }) => [
    ...(message === null ? [] : [`\n${source}: ${message.replaceAll(/[^\P{Cc}\n]/gu, ' ')}`]),
    ...(build === null ? [] : [`Next: operator build show ${build}`]),
  ])
  return [table(captured, columns, 'There is no source: add one with "operator sources add".'), ...sentences].join('\n')
}

type ShownSource = Omit<SourceRow, 'mapping' | 'knowledge_base_id' | 'created_at' | 'last_captured_at'> & {
  readonly created_at: string
  readonly last_captured_at: string | null
}

function shownSource({ mapping: _mapping, knowledge_base_id: _id, ...source }: SourceRow): ShownSource {
  const { created_at, last_captured_at } = source
  return {
    ...source,
    created_at: created_at.toISOString(),
    last_captured_at: last_captured_at?.toISOString() ?? null,
  }
}

async function baseId({ database }: Operator, slug: string | undefined): Promise<string | null> {
  return slug === undefined ? null : (await knowledgeBaseNamed(database, slug)).id
}

async function named(operator: Operator, source: string, slug: string | undefined): Promise<SourceRow> {
  return await sourceNamed(operator.database, source, await baseId(operator, slug))
}
