import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { SharedParts } from '#core/index/storage/resident-parts.ts'
import * as real from '#search-node/threads/scoring-worker.ts'
import type { OpenTask, SearchOutcome, SearchTask } from '#search-node/threads/scoring-worker.ts'

/** What threads hold in memory of a version. */
const SHARED_FILES = ['rows.bin', 'passages.offsets', 'passages.sha256', 'forward.offsets', 'vectors.sq4']
let failsToClose = false

/** The scoring thread, except that a search for 99 passages ends it, as a crash would. */
export function search(task: SearchTask): Promise<SearchOutcome> {
  if (task.input.limit === 99) process.exit(1)
  return real.search(task)
}

/** The name of the version's folder says what fails. */
export async function open(task: OpenTask): Promise<SharedParts> {
  const { artifact, shared } = task
  const isFirst = shared === undefined
  if (artifact.folder.includes('a-later-thread-cannot-open') && !isFirst) throw new Error('the thread failed')
  failsToClose = artifact.folder.includes('the-first-thread-cannot-close') && isFirst
  const parts = await real.open(task)
  if (artifact.folder.includes('read-once'))
    for (const name of SHARED_FILES) rmSync(join(artifact.folder, name), { force: true })
  return parts
}

export async function close(task: Pick<SearchTask, 'versionId'>): Promise<void> {
  await real.close(task)
  if (failsToClose) throw new Error('the thread failed')
}
