import { setTimeout as wait } from 'node:timers/promises'
import { ENGINE_BOUNDS } from '#core/engine/bounds.ts'
import { EngineError, openEngineClient, type EngineClient } from '#core/engine/client.ts'
import { contentFault, lookFault, type ReadOptions } from '#core/engine/index-check.ts'
import type { EngineSettings } from '#core/engine/settings.ts'
import type { EngineDescription } from '#core/index/engine/description.ts'
import type { ArtifactRef } from '#core/index/format/reader.ts'
import type { Log } from '#core/platform/log.ts'
import { SEARCH_NODE_BOUNDS } from './bounds.ts'
import { NodeError } from './node-error.ts'
import type { Versions } from './versions.ts'

export interface EngineCheckOptions {
  readonly lookEveryMs?: number
  readonly contentEveryMs?: number
  readonly readOnLoadRowsMax?: number
}

/**
 * Compares the index of every loaded version with its manifest: UUID, count and operations often; all documents and
 * vectors when the version is loaded, or right after where there are many, and at longer intervals. A version whose
 * index differs is unloaded. While the cluster does not answer, nothing is concluded: each search then fails by itself.
 */
export function startEngineChecks(
  settings: EngineSettings,
  versions: Pick<Versions, 'loaded' | 'unloadDamaged'>,
  log: Log,
  {
    lookEveryMs = SEARCH_NODE_BOUNDS.engineLookEveryMs,
    contentEveryMs = SEARCH_NODE_BOUNDS.engineContentEveryMs,
    readOnLoadRowsMax = ENGINE_BOUNDS.readOnLoadRowsMax,
  }: EngineCheckOptions = {},
) {
  const stopped = new AbortController()
  const { signal } = stopped
  const readAtMs = new WeakMap<ArtifactRef, number>()
  let opened: Promise<EngineClient> | undefined
  const faultOf = async (artifact: ArtifactRef, engine: EngineDescription, options?: ReadOptions) =>
    indexFault(await (opened ??= openEngineClient(settings)), engine, artifact, options)
  const isReadOnLoad = ({ count }: EngineDescription): boolean => count <= readOnLoadRowsMax

  async function check(artifact: ArtifactRef, engine: EngineDescription): Promise<void> {
    const readAt = readAtMs.get(artifact) ?? (isReadOnLoad(engine) ? Date.now() : 0)
    readAtMs.set(artifact, readAt)
    const isDue = Date.now() - readAt >= contentEveryMs
    try {
      const fault = await faultOf(artifact, engine, isDue ? { pauseMs: ENGINE_BOUNDS.pagePauseMs, signal } : undefined)
      if (isDue) readAtMs.set(artifact, Date.now())
      if (fault !== undefined) versions.unloadDamaged(artifact, fault)
    } catch (error) {
      if (!signal.aborted) log.warn('index could not be checked', { version_id: artifact.versionId }, error)
    }
  }
  async function run(): Promise<void> {
    while (!signal.aborted) {
      for (const { artifact } of versions.loaded())
        if (artifact.engine !== undefined) await check(artifact, artifact.engine)
      await wait(lookEveryMs, undefined, { signal }).catch(() => undefined)
    }
  }
  const running = run()
  return {
    /**
     * @throws NodeError DATA_LOSS if the index is not the one that was built, UNAVAILABLE if the cluster does not tell.
     */
    async verify(artifact: ArtifactRef) {
      const { engine } = artifact
      if (engine === undefined) return
      const fault = await orUnavailable(faultOf(artifact, engine, isReadOnLoad(engine) ? { signal } : undefined))
      if (fault !== undefined) throw new NodeError('DATA_LOSS', fault)
    },
    async stop() {
      stopped.abort()
      await running
      await (await opened)?.close()
    },
  }
}

async function orUnavailable<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof EngineError) throw new NodeError('UNAVAILABLE', error.message, { cause: error })
    throw error
  }
}

/** @param options undefined: the index is not read, only looked at. */
function indexFault(
  client: EngineClient,
  engine: EngineDescription,
  { folder, vectors }: ArtifactRef,
  options: ReadOptions | undefined,
): Promise<string | undefined> {
  return options === undefined
    ? lookFault(client, engine)
    : contentFault(client, engine, { folder, dimensions: vectors?.dimensions }, options)
}
