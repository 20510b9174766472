import { existsSync } from 'node:fs'
import { copyFile, mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { listTraced, type TracedBase } from '#core/db/version-chain.ts'
import type { Database } from '#core/db/pool.ts'
import { MANIFEST_FILE, SIGNATURE_FILE, readSignedManifest } from '#core/index/format/manifest.ts'
import type { SignedStore } from '#core/index/format/store.ts'
import { type Source, sourcesIn } from '#core/index/passages/sources.ts'
import { renameDurably, syncPath, writeChanged } from '#core/platform/durable-file.ts'
import { OperatorError } from '#core/platform/errors.ts'
import type { Log } from '#core/platform/log.ts'
import { forEachConcurrently } from '#core/platform/for-each-concurrently.ts'
import { forkOf } from '#jobs/platform/published-head.ts'
import { TRACE_BOUNDS } from './bounds.ts'
import { publishPrograms, writePage } from './files.ts'
import { readHistory, type Activation } from './history.ts'
import { basePage, rootPage, snapshotPage, versionPage, type TracedSnapshot, type TracedVersion } from './pages.ts'
import { writeProofs } from './proofs.ts'

export interface TraceDeps {
  readonly database: Database
  /** Its keys are those under which the version chain must hold too. */
  readonly store: SignedStore
  readonly traceDir: string
  readonly log: Log
}

/**
 * Writes what the public trace of a knowledge base lacks. Files of versions and snapshots are added and never removed,
 * so what was served stays resolvable. The head is written last. A run that dies is repeated from the start.
 * @throws OperatorError | ArtifactError for a chain or an artifact that was altered; nothing of it is published.
 */
export async function writeTrace(deps: TraceDeps, knowledgeBaseId: string, signal?: AbortSignal): Promise<void> {
  const base = (await listTraced(deps.database, TRACE_BOUNDS.tracedBasesMax)).find(({ id }) => id === knowledgeBaseId)
  if (base === undefined) return
  const fork = await forkOf(deps.database, deps.traceDir, base)
  if (fork !== undefined) throw new OperatorError(fork)
  const history = await readHistory(deps.database, base, deps.store.publicKeysDer)
  const folder = join(deps.traceDir, base.slug)
  await mkdir(join(folder, 'versions'), { recursive: true })
  await publishPrograms(deps.traceDir)
  const versions: TracedVersion[] = []
  for (const [id, activations] of Map.groupBy(history, ({ entry }) => entry.version_id)) {
    const files = await writeVersion(deps, folder, activations, signal)
    if (files === undefined) deps.log.warn('version left out of the trace: its files were removed', { version_id: id })
    else versions.push({ id, activations, ...files })
  }
  const publicKeys = deps.store.publicKeysDer
  await writePages({ folder, base, publicKeys }, versions, signal)
  await writePage(basePage(folder, base, { history, versions, publicKeys }))
  await writeHistory(folder, history)
  await writeRoot(deps.traceDir)
  deps.log.info('trace written', { knowledge_base: base.slug, sequence: history.at(-1)?.sequence })
}

/**
 * Publishes manifest, signature, sources and proofs of a version, all or none. Where they are there, they stay.
 * @returns undefined where an operator removed the files of the version before they were published.
 */
async function writeVersion(
  { store }: TraceDeps,
  folder: string,
  [first]: readonly Activation[],
  signal: AbortSignal | undefined,
): Promise<Pick<TracedVersion, 'folder' | 'manifest'> | undefined> {
  if (first === undefined) throw new Error('a version in the chain was activated')
  const { version_id: id, manifest_sha256: digest } = first.entry
  const target = join(folder, 'versions', id)
  const written = await readManifest(target, digest, store)
  if (written !== undefined) return { folder: target, manifest: written }
  const artifactFolder = await store.fetch(store.artifactFolder(id))
  if (!existsSync(artifactFolder)) return undefined
  const manifest = await readManifest(artifactFolder, digest, store)
  if (manifest === undefined)
    throw new OperatorError(
      `The artifact of version ${id} is not the one that was activated: restore it from a backup.`,
    )
  const temporary = `${target}.tmp`
  await rm(temporary, { recursive: true, force: true })
  await writeProofs({ artifactFolder, manifest, target: join(temporary, 'proofs'), signal })
  for (const name of [MANIFEST_FILE, SIGNATURE_FILE, 'sources.jsonl']) {
    await copyFile(join(artifactFolder, name), join(temporary, name))
    await syncPath(join(temporary, name))
  }
  if ((await readManifest(temporary, digest, store)) === undefined)
    throw new OperatorError(
      `The artifact of version ${id} was altered while it was published: restore it from a backup.`,
    )
  // One that was altered in place makes room.
  await rm(target, { recursive: true, force: true })
  await renameDurably(temporary, target)
  return { folder: target, manifest }
}

async function readManifest(folder: string, digest: string, { publicKeysDer }: SignedStore) {
  return readSignedManifest(folder, publicKeysDer, Buffer.from(digest, 'hex')).then(
    ({ manifest }) => manifest,
    () => undefined,
  )
}

interface Published {
  readonly folder: string
  readonly base: TracedBase
  readonly publicKeys: readonly Uint8Array[]
}

/** The revisions of a snapshot are those of the newest version that has it. */
async function writePages(
  { folder, base, publicKeys }: Published,
  versions: readonly TracedVersion[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const snapshots = new Map<string, TracedSnapshot>()
  for (const version of versions) {
    const sources: Source[] = []
    for await (const source of sourcesIn(version.folder, version.manifest.files['sources.jsonl'])) {
      sources.push(source)
      snapshots.set(source.id, { source, versions: [...(snapshots.get(source.id)?.versions ?? []), version.id] })
    }
    await writePage(versionPage(folder, base, { ...version, sources, publicKeys }))
  }
  const write = (snapshot: TracedSnapshot): Promise<void> => writePage(snapshotPage(folder, base, snapshot))
  await forEachConcurrently([...snapshots.values()], TRACE_BOUNDS.pagesAtOnceMax, write, signal)
}

async function writeHistory(folder: string, history: readonly Activation[]): Promise<void> {
  for (const { sequence, texts } of history)
    await writeChanged(join(folder, 'activations', `${sequence}.json`), texts.record)
  const lines = history.map(({ sequence, texts: { entry }, signature }) =>
    JSON.stringify({ sequence, entry, signature: signature.toString('base64') }),
  )
  await writeChanged(join(folder, 'chain.jsonl'), lines.map((line) => `${line}\n`).join(''))
  await writeChanged(join(folder, 'head.json'), `${lines.at(-1)}\n`)
}

/** Lists the knowledge bases whose trace is in the folder, also those whose trace no longer grows. */
async function writeRoot(root: string): Promise<void> {
  const folders = (await readdir(root, { withFileTypes: true })).filter((each) => each.isDirectory())
  const slugs = folders.map(({ name }) => name).filter((name) => /^[a-z0-9][a-z0-9-]*$/.test(name))
  await writePage(rootPage(root, slugs.toSorted()))
}
