import { randomUUID } from 'node:crypto'
import { readFile, realpath, stat } from 'node:fs/promises'
import { insertSource, listSources, removeSource, type SourceRow } from '#core/db/sources.ts'
import type { Queryable } from '#core/db/pool.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { CAPTURE_BOUNDS } from '#jobs/capture/bounds.ts'
import { isAddress } from '#jobs/capture/pipeline.ts'
import { oneMappingOf } from '#jobs/capture/one-mapping.ts'
import { statedMapping } from '#law/import/corpus/corpus-mapping.ts'
import { readMapping, type Mapping } from '#law/import/mapping/mapping.ts'
import { NOTHING_STATED, parseSourceYaml, readSourceYaml } from '#law/import/corpus/source-yaml.ts'
import { cloneAt, cloneLocation } from '#law/sources/git/clone.ts'
import { isClone } from '#law/sources/git/objects.ts'
import { PSEUDO_FILE, assertWithin } from '#law/sources/roots.ts'
import { checkedName, knowledgeBaseNamed } from './names.ts'
import { withAudit, type Operator } from './operator.ts'

interface AddSource {
  readonly name: string
  readonly knowledgeBase: string
  /** Path of a file or folder, or an HTTPS address. */
  readonly from?: string | undefined
  /** Path of a clone, in place of `from`: its files, with their history. */
  readonly git?: string | undefined
  readonly since?: string | undefined
  readonly only?: string | undefined
  readonly mapping?: string | undefined
  readonly sourceYaml?: string | undefined
  readonly allowHost?: readonly string[] | undefined
  readonly allowPrivate?: boolean | undefined
  readonly everyMinutes?: number | undefined
  /** Those of the job worker, as far as they are known here. */
  readonly roots?: readonly string[]
}

/** Records where files are captured from. All sources of a knowledge base are imported together, with one mapping. */
export async function addSource(operator: Operator, input: AddSource) {
  const base = await knowledgeBaseNamed(operator.database, input.knowledgeBase)
  const name = checkedName('a source', input.name)
  const location = await checkedLocation(input)
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

async function checkedLocation(input: AddSource): Promise<string> {
  const { from, git, since, only, allowHost = [], allowPrivate = false, ...asked } = input
  if ((from === undefined) === (git === undefined)) throw new OperatorError('Name --from or --git, one of them.')
  if (git !== undefined) return await checkedClone({ git, since, only, everyMinutes: asked.everyMinutes })
  if (from === undefined || since !== undefined || only !== undefined)
    throw new OperatorError('--since and --only are of a clone: name it with --git.')
  if (
    allowHost.length > CAPTURE_BOUNDS.hostsMax ||
    allowHost.some((host) => !/^[\w.-]+$|^\[[\da-f:.]+\]$/i.test(host) || !URL.canParse(`https://${host}`))
  )
    throw new OperatorError(
      `--allow-host takes at most ${CAPTURE_BOUNDS.hostsMax} names of hosts, each whole: www.example.org, without a port.`,
    )
  if (!isAddress(from)) return await checkedPath(from, asked)
  if (!URL.canParse(from)) throw new OperatorError(`${from} is no address.`)
  const url = new URL(from)
  if (url.username !== '' || url.password !== '') throw new OperatorError('An address must not hold a password.')
  if (url.protocol !== 'https:' && !allowPrivate)
    throw new OperatorError(`${from} is not HTTPS: plain HTTP is for a private network alone, with --allow-private.`)
  return url.href
}

async function checkedClone({ git, since, only, everyMinutes }: Partial<AddSource> & { git: string }): Promise<string> {
  if (everyMinutes !== undefined)
    throw new OperatorError(
      'A clone has no schedule, because the service never pulls: run "operator capture" after "git pull".',
    )
  const path = await checkedPath(git, {})
  if (!(await isClone(path))) throw new OperatorError(`${path} is no clone: it has no .git`)
  return cloneLocation({ path, since, only })
}

/** @returns the path with its links followed, because a job worker follows none. */
async function checkedPath(from: string, { everyMinutes, roots = [] }: Partial<AddSource>): Promise<string> {
  const path = await realpath(from).catch((cause: unknown) => {
    throw new OperatorError(`cannot read ${from}: name an existing file or folder, or an https:// address`, { cause })
  })
  const found = await stat(path)
  if (PSEUDO_FILE.test(path) || !(found.isFile() || found.isDirectory()))
    throw new OperatorError(`${path} is no regular file and no folder: name another one`)
  if (everyMinutes !== undefined && roots.length > 0) await assertWithin(path, roots)
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
