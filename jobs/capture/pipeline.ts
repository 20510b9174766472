import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { basename } from 'node:path'
import { appendAudit } from '#core/db/audit.ts'
import { insertBuild } from '#core/db/builds.ts'
import { inTransaction, type Database, type Queryable } from '#core/db/pool.ts'
import {
  builtMeanwhile,
  commitOfActive,
  importedVersions,
  insertCapture,
  lastGoodCapture,
  listSources,
  newestBuild,
  newestImport,
} from '#core/db/sources.ts'
import type { CapturedFile, CaptureOutcome, SourceRow } from '#core/db/sources.ts'
import { withdrawalsInForce } from '#core/db/withdrawals.ts'
import type { EmbeddingSpace } from '#core/index/format/manifest.ts'
import { storeFault, type ArtifactStore } from '#core/index/format/store.ts'
import { canonicalJson } from '#core/platform/digest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { buildParametersSchema, type BuildParameters } from '#jobs/version-build/parameters.ts'
import { captureSources } from '#law/sources/capture.ts'
import { captureClone, cloneAt } from '#law/sources/git/clone.ts'
import { listSource, mediaTypeOf } from '#law/sources/list.ts'
import type { SourceRoots } from '#law/sources/roots.ts'
import { CAPTURE_BOUNDS } from './bounds.ts'
import { fetchInto } from './fetch.ts'
import { readCaptured, recordImport, type OnProgress } from './import-captured.ts'
import type { Captured } from './run-child.ts'
import { mappingOfSource, oneMappingOf } from './one-mapping.ts'
import { assertReadable } from './readable.ts'

export interface CaptureDeps {
  readonly database: Database
  readonly store: ArtifactStore
  readonly actor: string
  /** Where files and folders may be opened. */
  readonly roots: SourceRoots
  /** Whether builds go on from what the capture sorted. An operator's account cannot write what a worker signs. */
  readonly preparesBuilds?: boolean
  readonly onProgress?: OnProgress
}

export function isAddress(location: string): boolean {
  return /^https?:\/\//i.test(location)
}

/**
 * Captures a source. Where bytes changed, imports what all sources of its knowledge base hold, and records a build with
 * the parameters of the newest one, whose job the caller adds. A capture that fails is recorded with what and where; the
 * last good one stays in force. Where a history was rewritten, the capture is in force, and failed as an alarm.
 */
export async function captureSource(deps: CaptureDeps, source: SourceRow): Promise<Captured> {
  const { database, roots } = deps
  const none = { files: 0, import_id: null, build_id: null }
  const named = { source: source.name, knowledge_base: source.knowledge_base }
  let outcome: CaptureOutcome
  let files: readonly CapturedFile[] = []
  let rewritten: string | null
  try {
    const last = (await lastGoodCapture(database, source.id))?.files ?? []
    files = await filesOf(deps, source, last)
    const isRecords = (await mappingOfSource(source, roots)).format === 'jsonl'
    await assertReadable(deps.store, { isAddress: isAddress(source.location), isRecords }, files, last)
    outcome = sameFiles(pairsOf(files), pairsOf(last)) ? 'unchanged' : 'changed'
    await insertCapture(database, { source_id: source.id, outcome, message: null, files: [...files] })
    rewritten = await rewrittenIn(database, source, files, last)
    // The last outcome is an alarm, and what was captured stays in force.
    if (rewritten !== null) {
      outcome = 'failed'
      await insertCapture(database, { source_id: source.id, outcome, message: rewritten, files: null })
    }
  } catch (error) {
    const message = faultOf(error, deps.store)?.slice(0, CAPTURE_BOUNDS.messageCharactersMax)
    if (message === undefined) throw error
    await insertCapture(database, {
      source_id: source.id,
      outcome: 'failed',
      message,
      files: files.length === 0 ? null : [...files],
    })
    return { ...named, outcome: 'failed', message, ...none }
  }
  const candidate = await candidateOf(deps, source).catch((error: unknown): Partial<Captured> => {
    const message = faultOf(error, deps.store)
    if (message === undefined) throw error
    return { message }
  })
  const message = [rewritten, candidate.message].flatMap((each) => each ?? []).join('; ')
  return { ...named, outcome, ...none, files: files.length, ...candidate, message: message === '' ? null : message }
}

/** Says which commit of the active version its repository lacks, or that it lacks another one than at the last capture. */
async function rewrittenIn(
  database: Database,
  { knowledge_base_id: base }: SourceRow,
  [{ gone = {} } = {}]: readonly Pick<CapturedFile, 'gone'>[],
  [last]: readonly CapturedFile[],
): Promise<string | null> {
  const ids = Object.keys(gone)
  if (ids.length === 0) return null
  const commit = (await commitOfActive(database, base, ids)) ?? ids.find((id) => last?.gone?.[id] === undefined)
  if (commit === undefined) return null
  return (
    `the history was rewritten: commit ${commit}, which was captured, is gone since ${gone[commit]}. The candidate shows ` +
    'what differs; the active version stays until a reviewer accepts "histories_rewritten"'
  )
}

/** What is wrong with a source or the store; undefined for a fault of the service. */
function faultOf(error: unknown, store: ArtifactStore): string | undefined {
  if (error instanceof OperatorError) return error.message
  const notKept =
    error instanceof Error && 'syscall' in error ? `a file is not read or kept: ${error.message}` : undefined
  return storeFault(store, error) ?? notKept
}

async function filesOf(
  { database, store, roots, onProgress = () => undefined }: CaptureDeps,
  source: SourceRow,
  last: readonly CapturedFile[],
): Promise<readonly CapturedFile[]> {
  const clone = cloneAt(source.location)
  if (clone !== undefined) {
    const known = await importedVersions(database, source.knowledge_base_id)
    return await captureClone(store, clone, { roots, onProgress, known, gone: last[0]?.gone })
  }
  if (!isAddress(source.location)) {
    const { files } = await listSource(source.location, (await mappingOfSource(source, roots)).format, roots)
    return await captureSources(store, files)
  }
  const url = new URL(source.location)
  const hosts = new Set([url.hostname, ...source.hosts])
  const [before] = last
  // A store that lost the bytes gets them again.
  const isKept = before !== undefined && existsSync(await store.fetch(store.snapshotFile(before.sha256)))
  const input = { url: url.href, hosts, isPrivate: source.private, known: isKept ? before.headers : undefined }
  const fetched = await fetchInto(store, input)
  if (fetched.kind === 'unchanged') return last
  const { kind: _, ...body } = fetched
  const sourceName = nameIn(url) ?? source.name
  return [{ sourceName, mediaType: mediaTypeOf(sourceName), ...body }]
}

/** The name of the file in an address, as far as it is one. */
function nameIn({ pathname }: URL): string | undefined {
  try {
    const name = basename(decodeURIComponent(pathname))
    return /^[^.\p{Cc}/\\][^\p{Cc}/\\]{0,200}$/u.test(name) ? name : undefined
  } catch {
    return undefined
  }
}

function pairsOf(files: readonly CapturedFile[]): readonly (readonly [string, string])[] {
  return files.map(({ sourceName, sha256 }) => [sourceName, sha256] as const)
}

function sameFiles(one: readonly (readonly [string, string])[], other: readonly (readonly [string, string])[]) {
  const keys = (pairs: typeof one): string => JSON.stringify(pairs.map(([name, sha256]) => `${name} ${sha256}`).sort())
  return keys(one) === keys(other)
}

/** Imports what all sources hold and asks for a build, unless the newest import has read the same. */
async function candidateOf(deps: CaptureDeps, source: SourceRow): Promise<Partial<Captured>> {
  const { database, store, actor, roots } = deps
  const sources = await listSources(database, source.knowledge_base_id, CAPTURE_BOUNDS.sourcesMax)
  const { files, missing } = await filesInForce(database, sources)
  if (missing !== undefined)
    return { message: `no candidate is built, because the source ${missing} has no good capture yet` }
  assertDistinct(files)
  const mapping = await oneMappingOf([source, ...sources], roots)
  const newest = await newestImport(database, source.knowledge_base_id)
  if (
    newest !== undefined &&
    sameFiles(newest.files, pairsOf(files)) &&
    canonicalJson(newest.mapping) === canonicalJson(mapping)
  )
    return {}
  const id = randomUUID()
  const next = deps.preparesBuilds === true ? await parametersOfNext(database, source) : undefined
  const build = next && { folder: `${store.workFolder(id)}.tmp`, withdrawals: next.withdrawals }
  const input = {
    knowledgeBase: { id: source.knowledge_base_id, slug: source.knowledge_base },
    mapping,
    sources: files.map(({ finalUrl: _url, headers: _headers, ...file }) => file),
    leftOut: [],
    actor,
    build,
    ...(deps.onProgress === undefined ? {} : { onProgress: deps.onProgress }),
  }
  try {
    const report = await readCaptured(store, input)
    // An import that is recorded without its build would be taken for one that the next capture need not build.
    const recorded = await inTransaction(database, async (client) => {
      const now = await filesInForce(client, sources)
      if (!sameFiles(pairsOf(now.files), pairsOf(files))) return undefined
      const { id: importId } = await recordImport(client, input, report)
      return {
        import_id: importId,
        ...(await askedOf(client, { source, actor }, { id, importId, newest: newest?.id })),
      }
    })
    // Another source was captured meanwhile. Its capture may have read the older file of this one.
    if (recorded === undefined) return await candidateOf(deps, source)
    const { parameters, ...asked } = recorded
    if (parameters === undefined) return asked
    if (build !== undefined && canonicalJson(build.withdrawals) === canonicalJson(parameters.withdrawals))
      // A build that another worker has begun reads the sources itself.
      await rename(build.folder, store.workFolder(id)).catch(() => undefined)
    return { ...asked, build_id: id }
  } finally {
    if (build !== undefined) await rm(build.folder, { recursive: true, force: true })
  }
}

/** What the last good captures of the sources hold, and the name of the first source without one. */
async function filesInForce(database: Queryable, sources: readonly SourceRow[]) {
  const files: CapturedFile[] = []
  for (const { id, name } of sources) {
    const good = await lastGoodCapture(database, id)
    if (good?.files === undefined || good.files === null) return { files, missing: name }
    for (const file of good.files) files.push(file)
  }
  return { files, missing: undefined }
}

/** Asks for the build of an import, with the parameters of the newest one, unless an operator has built the same. */
async function askedOf(
  client: Queryable,
  { source, actor }: { readonly source: SourceRow; readonly actor: string },
  { id, importId, newest }: { readonly id: string; readonly importId: string; readonly newest: string | undefined },
): Promise<{ readonly parameters?: BuildParameters; readonly message?: string }> {
  if (await builtMeanwhile(client, importId, newest)) return {}
  const parameters = await parametersOfNext(client, source)
  if (parameters === undefined)
    return { message: `the first build needs its parameters: "operator build start --import ${importId}"` }
  const { knowledge_base_id: knowledgeBaseId, knowledge_base, name } = source
  await insertBuild(client, { id, importId, parameters, knowledgeBaseId, startedBy: actor })
  const detail = { knowledge_base, import_id: importId, source: name }
  await appendAudit(client, { actor, action: 'build.start', subject: `build:${id}`, detail })
  return { parameters }
}

/** Those of the newest build, with what is withdrawn now left out; undefined where there was no build. */
async function parametersOfNext(database: Queryable, source: SourceRow): Promise<BuildParameters | undefined> {
  const newest = await newestBuild(database, source.knowledge_base_id)
  if (newest === undefined) return undefined
  const drop = await withdrawalsInForce(database, source.knowledge_base_id)
  const asked = buildParametersSchema.parse(newest.parameters)
  const endpoint = asked.endpoint ?? endpointOf(newest.embedding)
  return { ...asked, ...(endpoint && { endpoint }), withdrawals: { drop: [...drop], restore: [] } }
}

/** A build of an earlier release did not keep how it embedded; its version did. */
function endpointOf(space: EmbeddingSpace | null): BuildParameters['endpoint'] {
  if (space?.provider !== 'openai') return undefined
  const { model, query_prefix, passage_prefix, requests_dimensions, dimensions } = space
  return { model, query_prefix, passage_prefix, ...(requests_dimensions && { dimensions }) }
}

function assertDistinct(files: readonly CapturedFile[]): void {
  const names = new Set<string>()
  for (const { sourceName } of files) {
    if (names.has(sourceName))
      throw new OperatorError(`two sources hold a file of the name ${sourceName}: rename one, or remove a source`)
    names.add(sourceName)
  }
}
