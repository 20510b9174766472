import { randomUUID } from 'node:crypto'
import { readFile, realpath, stat } from 'node:fs/promises'
import { z } from 'zod'
import type { Queryable } from '#core/db/pool.ts'
import { insertSource, lastCaptures, listSources, removeSource, type SourceRow } from '#core/db/sources.ts'
import { openArtifactStore } from '#core/index/format/store.ts'
import { STORE_SETTINGS } from '#core/index/settings.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { CAPTURE_BOUNDS } from '#jobs/capture/bounds.ts'
import { oneMappingOf } from '#jobs/capture/one-mapping.ts'
import { captureSource, isAddress } from '#jobs/capture/pipeline.ts'
import type { Captured } from '#jobs/capture/run-child.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { enqueueBuild } from '#jobs/platform/queues.ts'
import { statedMapping } from '#law/import/corpus/corpus-mapping.ts'
import { NOTHING_STATED, parseSourceYaml, readSourceYaml } from '#law/import/corpus/source-yaml.ts'
import { readMapping, type Mapping } from '#law/import/mapping/mapping.ts'
import { cloneAt, cloneLocation } from '#law/sources/git/clone.ts'
import { isClone } from '#law/sources/git/objects.ts'
import { PSEUDO_FILE, assertWithin } from '#law/sources/roots.ts'
import { checkedName, idOf, knowledgeBaseNamed } from '#operator/actions/names.ts'
import { withAudit, type Operator } from '#operator/actions/operator.ts'
import type { Commands, Input } from '#operator/command-line/command.ts'
import { commaList, option, rows, text, whole } from '#operator/command-line/inputs.ts'
import { withQueues } from '#operator/command-line/queues.ts'
import { fields, table } from '#operator/command-line/table.ts'
import { change, group, list, verb } from '#operator/command-line/verbs.ts'

const { REDIS_URL, SOURCE_ROOTS } = OPERATOR_VARIABLES
const NONE = 'There is no source: add one with "operator sources add".'
const BASE = ['<slug>', 'slug or UUID'] as const
const knowledgeBase = option(...BASE)
const day = z.iso.date()

/** What is said of a source that is added. */
const ADDED = {
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
  allowHost: option('<hosts>', 'hosts to which the address may redirect, separated by commas', commaList.optional()),
  allowPrivate: option('', 'an address of a private network may answer, also by plain HTTP', z.boolean().optional()),
  everyMinutes: option(
    '<n>',
    'capture again so often; default: only with "operator capture"',
    whole(CAPTURE_BOUNDS.everyMinutesMin, CAPTURE_BOUNDS.everyMinutesMax).optional(),
  ),
}
type AddSource = Input<typeof ADDED>

export const commands: Commands = [
  group('sources', 'where law is captured from: add, list, show, remove', [
    change('add <name>', 'add a file, a folder or an HTTPS address to capture', {
      notes:
        'Only the host of the address and those of --allow-host are asked. Each address is checked after its name is\n' +
        'resolved, and at each redirect. On a schedule, a path is captured only below SOURCE_ROOTS of the job worker, and\n' +
        'no link is followed. All sources of a knowledge base are imported together, with one mapping.\n' +
        'Of a clone each commit of each file becomes a revision, in force from its day. It is never pulled, and only its\n' +
        'objects are read: run "operator capture" after "git pull".',
      examples: [
        'sources add rulebook --knowledge-base hsfa-rules --from ./rulebook',
        'sources add estonia --knowledge-base ee --git ./legalize-ee --source-yaml ee.yaml',
        'sources add title-12 --knowledge-base us-rules --from https://law.example/title-12.xml --every-minutes 1440',
      ],
      input: ADDED,
      variables: { SOURCE_ROOTS },
      async run(input, { operator, config }) {
        const added = await addSource(operator, input, config.SOURCE_ROOTS)
        const { name, knowledge_base: base } = added
        return [added, `Added source "${name}" of "${base}".\nNext: operator capture ${name}`]
      },
    }),
    list('list', 'list sources', {
      examples: ['sources list', 'sources list --knowledge-base us-rules'],
      input: { knowledgeBase, rows },
      async read(input, { database }) {
        const base = await idOf(knowledgeBaseNamed, database, input.knowledgeBase)
        return (await listSources(database, base, input.rows)).map(shownSource)
      },
      columns: 'name knowledge_base location=from every_minutes last_captured_at=last_capture last_outcome=outcome',
      empty: 'There is no source here: add one with "operator sources add".',
    }),
    verb('show <source>', 'show a source and its last captures', {
      examples: ['sources show title-12'],
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
      examples: ['sources remove title-12'],
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
    examples: ['capture', 'capture title-12 --knowledge-base us-rules'],
    input: {
      sources: z.array(text).default([]),
      knowledgeBase: option('<slug>', 'only sources of this one'),
    },
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
        throw new OperatorError(
          `${failed.length} of ${captured.length} captures failed: the last good ones stay in force.`,
        )
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

function shownSource({ mapping: _mapping, knowledge_base_id: _id, ...source }: SourceRow) {
  const { created_at, last_captured_at } = source
  return {
    ...source,
    created_at: created_at.toISOString(),
    last_captured_at: last_captured_at?.toISOString() ?? null,
  }
}

/**
 * Records where files are captured from. All sources of a knowledge base are imported together, with one mapping.
 * @param roots those of the job worker, as far as they are known here.
 */
export async function addSource(operator: Operator, input: AddSource, roots: readonly string[] = []) {
  const base = await knowledgeBaseNamed(operator.database, input.knowledgeBase)
  const name = checkedName('a source', input.name)
  const location = await checkedLocation(input, roots)
  const mapping = await mappingFor(input, location)
  const others = await listSources(operator.database, base.id, CAPTURE_BOUNDS.sourcesMax)
  if (others.length >= CAPTURE_BOUNDS.sourcesMax)
    throw new OperatorError(`"${base.slug}" has ${CAPTURE_BOUNDS.sourcesMax} sources: remove one first.`)
  await oneMappingOf([{ name, location, mapping }, ...others], 'own rights')
  const source = {
    id: randomUUID(),
    knowledge_base_id: base.id,
    name,
    location,
    mapping,
    hosts: (input.allowHost ?? []).map((host) => new URL(`https://${host}`).hostname),
    private: input.allowPrivate ?? false,
    every_minutes: input.everyMinutes ?? null,
  }
  return await withAudit(operator, 'source.add', async (client) => {
    if (!(await insertSource(client, source)))
      throw new OperatorError(`"${base.slug}" has a source "${name}": choose another name, or remove it first.`)
    const { hosts, every_minutes } = source
    const detail = { knowledge_base: base.slug, name, location, hosts, private: source.private, every_minutes }
    return [{ id: source.id, name, knowledge_base: base.slug, location }, `source:${source.id}`, detail]
  })
}

async function checkedLocation(input: AddSource, roots: readonly string[]): Promise<string> {
  const { from, git, since, only, everyMinutes, allowHost = [], allowPrivate = false } = input
  if ((from === undefined) === (git === undefined)) throw new OperatorError('Name --from or --git, one of them.')
  if (git !== undefined) return await checkedClone(git, input)
  if (from === undefined || since !== undefined || only !== undefined)
    throw new OperatorError('--since and --only are of a clone: name it with --git.')
  if (
    allowHost.length > CAPTURE_BOUNDS.hostsMax ||
    allowHost.some((host) => !/^[\w.-]+$|^\[[\da-f:.]+\]$/i.test(host) || !URL.canParse(`https://${host}`))
  )
    throw new OperatorError(
      `--allow-host takes at most ${CAPTURE_BOUNDS.hostsMax} names of hosts, each whole: www.example.org, without a port.`,
    )
  if (!isAddress(from)) {
    const path = await checkedPath(from)
    if (everyMinutes !== undefined && roots.length > 0) await assertWithin(path, roots)
    return path
  }
  if (!URL.canParse(from)) throw new OperatorError(`${from} is no address.`)
  const url = new URL(from)
  if (url.username !== '' || url.password !== '') throw new OperatorError('An address must not hold a password.')
  if (url.protocol !== 'https:' && !allowPrivate)
    throw new OperatorError(`${from} is not HTTPS: plain HTTP is for a private network alone, with --allow-private.`)
  return url.href
}

async function checkedClone(git: string, { since, only, everyMinutes }: AddSource): Promise<string> {
  if (everyMinutes !== undefined)
    throw new OperatorError(
      'A clone has no schedule, because the service never pulls: run "operator capture" after "git pull".',
    )
  const path = await checkedPath(git)
  if (!(await isClone(path))) throw new OperatorError(`${path} is no clone: it has no .git`)
  return cloneLocation({ path, since, only })
}

/** @returns the path with its links followed, because a job worker follows none. */
async function checkedPath(from: string): Promise<string> {
  const path = await realpath(from).catch((cause: unknown) => {
    throw new OperatorError(`cannot read ${from}: name an existing file or folder, or an https:// address`, { cause })
  })
  const found = await stat(path)
  if (PSEUDO_FILE.test(path) || !(found.isFile() || found.isDirectory()))
    throw new OperatorError(`${path} is no regular file and no folder: name another one`)
  return path
}

/** @returns null: the `source.yaml` of the folder is read at each capture. */
async function mappingFor({ mapping, sourceYaml }: AddSource, location: string): Promise<Mapping | null> {
  if (mapping !== undefined && sourceYaml !== undefined)
    throw new OperatorError('Name --mapping or --source-yaml, not both.')
  if (mapping !== undefined) return await readMapping(mapping)
  if (sourceYaml !== undefined) {
    const yaml = await readFile(sourceYaml, 'utf8').catch((cause: unknown) => {
      throw new OperatorError(`${sourceYaml} cannot be read: check its path and rights.`, { cause })
    })
    return statedMapping(parseSourceYaml(yaml, sourceYaml))
  }
  const clone = cloneAt(location)
  // What the operator states is kept as it is now: files of the clone must not change it.
  if (clone !== undefined) return statedMapping((await readSourceYaml(clone.path)) ?? NOTHING_STATED)
  return isAddress(location) ? statedMapping(NOTHING_STATED) : null
}

/** @throws OperatorError for a name that none or several knowledge bases have. */
export async function sourceNamed(database: Queryable, name: string, knowledgeBaseId: string | null) {
  const sources = await listSources(database, knowledgeBaseId, CAPTURE_BOUNDS.sourcesMax)
  const [found, other] = sources.filter((source) => source.name === name || source.id === name)
  if (other !== undefined)
    throw new OperatorError(`Several knowledge bases have a source "${name}": name one with --knowledge-base.`)
  if (found === undefined) throw new OperatorError(`There is no source "${name}": see "operator sources list".`)
  return found
}

export async function removeSourceNamed(operator: Operator, source: SourceRow): Promise<void> {
  await withAudit(operator, 'source.remove', async (client) => {
    const { id, knowledge_base, name, location } = source
    if (!(await removeSource(client, id))) throw new OperatorError(`The source "${name}" was removed.`)
    return [undefined, `source:${id}`, { knowledge_base, name, location }]
  })
}
