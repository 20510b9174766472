import { z } from 'zod'
import { lastCaptures, listSources, type SourceRow } from '#core/db/sources.ts'
import { openArtifactStore } from '#core/index/format/store.ts'
import { STORE_SETTINGS } from '#core/index/settings.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { CAPTURE_BOUNDS } from '#jobs/capture/bounds.ts'
import { captureSource } from '#jobs/capture/pipeline.ts'
import type { Captured } from '#jobs/capture/run-child.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { enqueueBuild } from '#jobs/platform/queues.ts'
import { idOf, knowledgeBaseNamed } from '#operator/actions/names.ts'
import { addSource, removeSourceNamed, sourceNamed } from '#operator/actions/sources.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { commaList, day, option, rows, text, whole } from '#operator/command-line/inputs.ts'
import { withQueues } from '#operator/command-line/queues.ts'
import { fields, table } from '#operator/command-line/table.ts'
import { change, group, list, verb } from '#operator/command-line/verbs.ts'

const { REDIS_URL, SOURCE_ROOTS } = OPERATOR_VARIABLES
const NONE = 'There is no source: add one with "operator sources add".'
const BASE = ['<slug>', 'slug or UUID'] as const
const knowledgeBase = option(...BASE)

export const commands: Commands = [
  group('sources', 'where law is captured from: add, list, show, remove', [
    change('add <name>', 'add a file, a folder or an HTTPS address to capture', {
      notes:
        'Only the host of the address and those of --allow-host are asked. Each address is checked after its name is\n' +
        'resolved, and at each redirect. On a schedule, a path is captured only below SOURCE_ROOTS of the job worker, and\n' +
        'no link is followed. All sources of a knowledge base are imported together, with one mapping.\n' +
        'Of a clone each commit of each file becomes a revision, in force from its day. It is never pulled, and only its\n' +
        'objects are read: run "operator capture" after "git pull".',
      input: {
        name: text,
        knowledgeBase: option(...BASE, text),
        from: option('<place>', 'path of a file or folder, or an https:// address', text.optional()),
        git: option('<clone>', 'path of a clone of a repository of law, in place of --from', text.optional()),
        since: option('<day>', 'leave out revisions of the clone that ended before, YYYY-MM-DD', day.optional()),
        only: option('<glob>', 'files of the clone by their path, such as ee/4*.md', text.optional()),
        sourceYaml: option(
          '<file>',
          'what the files do not state, read now; default: the source.yaml of the folder, read at each capture',
        ),
        mapping: option('<file>', 'how records of JSONL become passages (JSON)'),
        allowHost: option(
          '<hosts>',
          'hosts to which the address may redirect, separated by commas',
          commaList.optional(),
        ),
        allowPrivate: option(
          '',
          'an address of a private network may answer, also by plain HTTP',
          z.boolean().optional(),
        ),
        everyMinutes: option(
          '<n>',
          'capture again so often; default: only with "operator capture"',
          whole(CAPTURE_BOUNDS.everyMinutesMin, CAPTURE_BOUNDS.everyMinutesMax).optional(),
        ),
      },
      variables: { SOURCE_ROOTS },
      async run(input, { operator, config }) {
        const added = await addSource(operator, { ...input, roots: config.SOURCE_ROOTS })
        const { name, knowledge_base: base } = added
        return [added, `Added source "${name}".\nNext: operator capture "${name}" --knowledge-base ${base}`]
      },
    }),
    list('list', 'list sources', {
      input: { knowledgeBase, rows },
      async read(input, { database }) {
        const base = await idOf(knowledgeBaseNamed, database, input.knowledgeBase)
        return (await listSources(database, base, input.rows)).map(shownSource)
      },
      columns: 'name knowledge_base location=from every_minutes last_captured_at=last_capture last_outcome=outcome',
      empty: 'There is no source here: add one with "operator sources add".',
    }),
    verb('show <source>', 'show a source and its last captures', {
      input: { source: text, knowledgeBase },
      async run(input, { database }) {
        const base = await idOf(knowledgeBaseNamed, database, input.knowledgeBase)
        const source = await sourceNamed(database, input.source, base)
        const found = await lastCaptures(database, source.id, CAPTURE_BOUNDS.capturesShownMax)
        const captures = found.map((each) => ({ ...each, captured_at: each.captured_at.toISOString() }))
        const counted = captures.map((each) => ({ ...each, files: each.files?.length ?? null }))
        const columns = 'captured_at outcome files message=why'
        const shown = table(counted, columns, 'Nothing is captured yet: see "operator capture".')
        return [{ ...shownSource(source), captures }, `${fields(shownSource(source))}\n\n${shown}`]
      },
    }),
    change('remove <source>', 'capture a source no more; what was imported stays', {
      input: { source: text, knowledgeBase },
      async run(input, { operator, database }) {
        const base = await idOf(knowledgeBaseNamed, database, input.knowledgeBase)
        const source = await sourceNamed(database, input.source, base)
        await removeSourceNamed(operator, source)
        return [shownSource(source), `Removed source "${source.name}" of "${source.knowledge_base}".`]
      },
    }),
  ]),
  change('capture [sources...]', 'capture sources now; where bytes changed, import them and build a candidate', {
    notes:
      'Without names it captures all sources. The exact bytes are kept in ARTIFACT_STORE. A capture that fails changes\n' +
      'nothing: the last good one stays in force. The build has the parameters of the newest one of the knowledge base.',
    input: { sources: z.array(text).default([]), knowledgeBase: option('<slug>', 'only sources of this one') },
    variables: { ...STORE_SETTINGS, REDIS_URL },
    async run(input, { operator, database, config, show, progress }) {
      const base = await idOf(knowledgeBaseNamed, database, input.knowledgeBase)
      const store = openArtifactStore(config)
      const wanted =
        input.sources.length === 0
          ? await listSources(database, base, CAPTURE_BOUNDS.sourcesMax)
          : await Promise.all(input.sources.map((name) => sourceNamed(database, name, base)))
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
      show(captured, capturedInWords(captured))
      const failed = captured.filter(({ outcome }) => outcome === 'failed')
      if (failed.length > 0)
        throw new OperatorError(`${failed.length} of ${captured.length} captures failed: active versions stay.`)
      return undefined
    },
  }),
]

/** A table, then what a sentence says of a source: a report of losses has many lines. */
function capturedInWords(captured: readonly Captured[]): string {
  const sentences = captured.flatMap(({ source, message, build_id: build }) => [
    ...(message === null ? [] : [`\n${source}: ${message.replaceAll(/[^\P{Cc}\n]/gu, ' ')}`]),
    ...(build === null ? [] : [`Next: operator build show ${build}`]),
  ])
  return [table(captured, 'source outcome files build_id', NONE), ...sentences].join('\n')
}

type ShownSource = Omit<SourceRow, 'mapping' | 'knowledge_base_id' | 'created_at' | 'last_captured_at'> & {
  readonly created_at: string
  readonly last_captured_at: string | null
}

function shownSource({ mapping: _mapping, knowledge_base_id: _id, ...source }: SourceRow): ShownSource {
  const { created_at, last_captured_at } = source
  return { ...source, created_at: created_at.toISOString(), last_captured_at: last_captured_at?.toISOString() ?? null }
}
