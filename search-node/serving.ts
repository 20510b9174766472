import { setTimeout as wait } from 'node:timers/promises'
import { servedVersions } from '#core/domain/version-chain.ts'
import type { Log } from '#core/platform/log.ts'
import { SEARCH_NODE_BOUNDS } from './bounds.ts'
import { NodeError } from './node-error.ts'
import type { Versions } from './versions.ts'

interface ServingDeps {
  /** Signed entries of the versions to serve; undefined: no version was active yet. */
  readonly list: () => Promise<string | undefined>
  readonly publicKeysDer: readonly Uint8Array[]
  readonly versions: Pick<Versions, 'prepare'>
  /** Called once all listed versions are loaded, except those whose files are damaged. */
  readonly onServing: () => void
  readonly log: Log
}

/**
 * Loads the versions of the list, at the start and when it changes, so that a node depends on nothing but the store. A
 * version that does not verify is passed over until the list changes. What could not be read is tried again.
 */
export function startServing(deps: ServingDeps): { wanted(): readonly string[]; stop(): void } {
  const stopping = new AbortController()
  const { signal } = stopping
  let loaded: string | undefined
  let wanted: readonly string[] = []

  async function run(): Promise<void> {
    for (let failures = 0; !signal.aborted;) {
      try {
        const list = (await deps.list()) ?? '[]'
        wanted = servedVersions(list, deps.publicKeysDer).map(({ versionId }) => versionId)
        if (list !== loaded && (await loadAll(deps, list, signal))) {
          loaded = list
          deps.onServing()
        }
        failures = list === loaded ? 0 : failures + 1
      } catch (error) {
        failures++
        deps.log.warn('versions to serve could not be read', {}, error)
      }
      const pauseMs = SEARCH_NODE_BOUNDS.servingLookEveryMs * 2 ** failures
      await wait(Math.min(pauseMs, SEARCH_NODE_BOUNDS.servingLookPauseMaxMs), undefined, { signal }).catch(
        () => undefined,
      )
    }
  }
  void run()
  return { wanted: () => wanted, stop: () => stopping.abort() }
}

/** @returns whether nothing is left to try. */
async function loadAll({ publicKeysDer, versions, log }: ServingDeps, list: string, signal: AbortSignal) {
  let settled = true
  for (const { versionId, manifestDigest } of servedVersions(list, publicKeysDer)) {
    if (signal.aborted) return false
    try {
      const { alreadyLoaded, passages } = await versions.prepare(versionId, manifestDigest)
      if (!alreadyLoaded) log.info('version loaded', { version_id: versionId, passages })
    } catch (error) {
      log.error('version could not be loaded', { version_id: versionId }, error)
      if (!(error instanceof NodeError && error.code === 'DATA_LOSS')) settled = false
    }
  }
  return settled
}
