import { createHash } from 'node:crypto'
import { basename, matchesGlob, resolve } from 'node:path'
import { pathToFileURL, fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { z } from 'zod'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { forEachConcurrently } from '#core/platform/for-each-concurrently.ts'
import { SOURCE_BOUNDS } from '../bounds.ts'
import { utcDay } from '#core/platform/time.ts'
import { captureBytes, type CapturedSource, type GoneCommits } from '../capture.ts'
import type { SourceRoots } from '../roots.ts'
import { GIT_BOUNDS } from './bounds.ts'
import { changesOf, commitsOf, type Commit } from './history.ts'
import { TooLarge } from './cat-file.ts'
import { openObjects, type GitObjects } from './objects.ts'
import { revisionsOf, versionOf, type HeldVersion, type Revision, type Version } from './versions.ts'

/** A clone as a source: which of its files, and from which day on. */
export interface CloneSource {
  readonly path: string
  /** Revisions that ended before this day are left out. */
  readonly since?: string | undefined
  /** Files by a glob of their path in the repository. */
  readonly only?: string | undefined
}

const SCHEME = 'git+'

/** The location under which a clone is recorded as a source: `git+file:///srv/legalize-ee?since=2020-01-01`. */
export function cloneLocation({ path, since, only }: CloneSource): string {
  const url = pathToFileURL(resolve(path))
  if (since !== undefined) url.searchParams.set('since', since)
  if (only !== undefined) url.searchParams.set('only', only)
  return `${SCHEME}${url.href}`
}

/** Returns the clone that a location names; undefined for a file, a folder or an address. */
export function cloneAt(location: string): CloneSource | undefined {
  if (!location.startsWith(`${SCHEME}file:`)) return undefined
  const url = new URL(location.slice(SCHEME.length))
  const { since, only } = Object.fromEntries(url.searchParams)
  url.search = ''
  return { path: fileURLToPath(url), since, only }
}

export type OnCloneProgress = (stage: string, done: number, total: number) => void

interface CloneOptions {
  readonly roots?: SourceRoots
  readonly onProgress?: OnCloneProgress
  readonly signal?: AbortSignal | undefined
  /** Of a capture: names of captured revisions, and the commits that were gone at the last one. */
  readonly known?: readonly string[] | undefined
  readonly gone?: GoneCommits | undefined
}

const MANIFEST = '.legalize.yml'
const SPEC_VERSION = [0, 4] as const
const versionSchema = z.looseObject({ spec_version: z.coerce.string().regex(/^\d{1,4}(?:\.\d{1,4}){1,2}$/) })
const layoutSchema = z.looseObject({
  layout: z.array(z.looseObject({ directories: z.array(z.string()).min(1), path: z.string().endsWith('.md') })).min(1),
})
type Layout = z.infer<typeof layoutSchema>['layout']
const DEFAULT_LAYOUT: Layout = [{ directories: ['*'], path: '{directory}/{identifier}.md' }]

/**
 * Reads the history of a clone: each version of each file of law becomes a revision, or is held back by a reason.
 * @throws OperatorError for a clone that is broken, leads outside its folder or has a layout that is not understood.
 */
export async function readClone(source: CloneSource, options: CloneOptions = {}) {
  await using objects = await openObjects(source.path, options.roots)
  return await historyOf(objects, source, options)
}

async function historyOf(
  objects: GitObjects,
  { since, only }: CloneSource,
  { onProgress = () => undefined, signal }: CloneOptions,
) {
  const reading = (what: string, total: number) => (done: number) => {
    signal?.throwIfAborted()
    onProgress(`reading ${what}`, done, total)
  }
  const commits = await commitsOf(objects, reading('commits', 0))
  const files = new Map<string, (Version | Commit)[]>()
  let [manifest, versions]: [string | undefined, number] = [undefined, 0]
  for await (const { path, commit, blob } of changesOf(objects, commits, reading('versions', commits.length))) {
    if (path === MANIFEST) manifest = blob
    // What stands at the root, or is hidden, describes the repository.
    const isLaw = path.endsWith('.md') && path.includes('/') && !/(?:^|\/)\./.test(path)
    if (!isLaw || (only !== undefined && !matchesGlob(path, only))) continue
    versions += 1
    if (versions > GIT_BOUNDS.filesMax)
      throw new OperatorError(`more than ${GIT_BOUNDS.filesMax} versions of files: name fewer with --only`)
    const version =
      blob === undefined ? commit : versionOf(path, commit, blob, await objects.read(blob, 'blob').catch(ifTooLarge))
    const earlier = files.get(path)
    if (earlier === undefined) files.set(path, [version])
    else earlier.push(version)
  }
  const layout = manifest === undefined ? DEFAULT_LAYOUT : layoutOf(await objects.read(manifest, 'blob'))
  const held: HeldVersion[] = []
  const served: Revision[] = []
  for (const [path, all] of files) {
    const found = revisionsOf(all)
    held.push(...found.held)
    for (const revision of found.revisions) {
      const isOver = since !== undefined && revision.until !== undefined && revision.until <= since
      const reason = misplaced(path, revision.front, layout) ?? (isOver ? `it ended before ${since}` : undefined)
      if (reason === undefined) served.push(revision)
      else held.push({ ...revision, reason })
    }
  }
  return { commits: new Set(commits.map(({ id }) => id)), revisions: withoutDoubled(served, held), held }
}

/** Leaves out the files of one identifier: they would be revisions of one act. */
function withoutDoubled(served: readonly Revision[], held: HeldVersion[]): readonly Revision[] {
  const groups = Map.groupBy(served, ({ front }) => front.get('identifier') ?? '')
  return [...groups].flatMap(([identifier, own]) => {
    const [one, other] = new Set(own.map(({ path }) => path))
    const reason = `${one} and ${other} have one identifier, ${identifier}`
    if (other !== undefined) held.push(...own.map((each) => ({ ...each, reason })))
    return other === undefined ? own : []
  })
}

function ifTooLarge(error: unknown): TooLarge {
  if (error instanceof TooLarge) return error
  throw error
}

/** @throws OperatorError naming what of the manifest is not understood: paths read by other rules would be wrong. */
function layoutOf(bytes: Buffer): Layout {
  const fail = (why: string): never => {
    throw new OperatorError(`${MANIFEST} of the clone ${why}`)
  }
  if (bytes.length > GIT_BOUNDS.manifestBytesMax) fail(`is larger than ${GIT_BOUNDS.manifestBytesMax} bytes`)
  const written = parsedYaml(bytes.toString('utf8'))
  // A newer version may have another layout.
  const stated = versionSchema.safeParse(written)
  const version = stated.data?.spec_version ?? ''
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [ownMajor, ownMinor] = SPEC_VERSION
  if (major > ownMajor || (major === ownMajor && minor > ownMinor))
    fail(`has the spec_version ${version}, and ${SPEC_VERSION.join('.')} is the newest that is read`)
  const parsed = layoutSchema.safeParse(written)
  const [issue] = [stated, parsed].flatMap(({ error }) => error?.issues ?? [])
  if (!parsed.success || issue !== undefined) return fail(`is not understood: ${issue?.path.join('.') ?? ''}`)
  const { layout } = parsed.data
  const names = layout.flatMap(({ directories }) => directories)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) fail(`has two entries for the directory "${twice}"`)
  if (layout.some(({ directories }) => directories.length > 1 && directories.includes('*')))
    fail('mixes "*" with names of directories')
  return layout
}

function parsedYaml(text: string): unknown {
  try {
    return parse(text, { maxAliasCount: 0, schema: 'failsafe' })
  } catch {
    return undefined
  }
}

/** Returns why a file does not lie where the layout puts it. @throws OperatorError where the layout does not say. */
function misplaced(path: string, front: ReadonlyMap<string, string>, layout: Layout): string | undefined {
  const identifier = front.get('identifier') ?? ''
  const directory = front.get('jurisdiction') ?? front.get('country') ?? ''
  const entry =
    layout.find(({ directories }) => directories.includes(directory)) ??
    layout.find(({ directories }) => directories.includes('*'))
  if (entry === undefined)
    throw new OperatorError(`${MANIFEST} of the clone has no entry for the directory "${directory}"`)
  const derived: Readonly<Record<string, string>> = {
    directory,
    identifier,
    id_sha1_2: createHash('sha1').update(identifier).digest('hex').slice(0, 2),
  }
  const expected = entry.path.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
    const value = (Object.hasOwn(derived, name) ? derived[name] : front.get(name)) ?? ''
    if (value === '')
      throw new OperatorError(`${MANIFEST} of the clone has the placeholder {${name}}, which ${path} does not state`)
    return value
  })
  return expected === path ? undefined : `the layout of the repository puts it at ${expected}`
}

/**
 * The name of a captured revision: its file, and what anybody with the clone needs to check it by `git show`. The reader
 * of Markdown takes the days from it.
 */
function revisionName(repository: string, { path, commit, blob, from, until }: Revision): string {
  const days = { published: commit.sourceDate, from, until }
  const stated = Object.entries({ commit: commit.id, blob, ...days }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${value}`],
  )
  return `${repository}/${path}?${stated.join('&')}`
}

/** Returns what the name of a captured revision says; `text` is its version of the file, whatever commits say of others. */
export function namedVersion(name: string) {
  const [, repository, commit] = /^([^/]+)\/.*\?commit=([0-9a-f]+)&/.exec(name) ?? []
  if (repository === undefined || commit === undefined) return undefined
  const text = name.replaceAll(/commit=\w+&|&until=[\d-]+/g, '')
  return { repository, commit, text, from: /&from=([\d-]+)/.exec(name)?.[1] ?? '' }
}

/**
 * Captures the bytes of every revision of a clone. Known commits that are gone stand on the first: whoever rewrites a
 * history may have changed past law. @throws OperatorError as `readClone` does.
 */
export async function captureClone(
  store: ArtifactStore,
  source: CloneSource,
  options: CloneOptions = {},
): Promise<readonly CapturedSource[]> {
  const repository = basename(resolve(source.path)).replace(/\.git$/, '')
  await using objects = await openObjects(source.path, options.roots)
  const { commits, revisions } = await historyOf(objects, source, options)
  if (revisions.length === 0)
    throw new OperatorError(`${source.path} holds no version of law that is served: see "operator inspect"`)
  const captured: CapturedSource[] = []
  let done = 0
  const capture = async (revision: Revision, index: number): Promise<void> => {
    const file = { sourceName: revisionName(repository, revision), mediaType: 'text/markdown' }
    captured[index] = await captureBytes(store, file, await objects.read(revision.blob, 'blob'))
    options.onProgress?.('capturing versions', (done += 1), revisions.length)
  }
  await forEachConcurrently(revisions, SOURCE_BOUNDS.sourceCapturesMax, capture, options.signal)
  const gone: Record<string, string> = {}
  for (const name of options.known ?? []) {
    const { repository: of, commit = '' } = namedVersion(name) ?? {}
    if (of === repository && !commits.has(commit)) gone[commit] = options.gone?.[commit] ?? utcDay(new Date())
  }
  return captured.map((each, at) => (at === 0 ? { ...each, gone } : each))
}
