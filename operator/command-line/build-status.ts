import { BUILD_BOUNDS } from '#jobs/version-build/bounds.ts'
import type { BuildListRow } from '#core/db/corpus-lists.ts'
import { cell } from './table.ts'

type Shown = Pick<BuildListRow, 'state' | 'seconds_since_heartbeat' | 'updated_at' | 'next_attempt_at' | 'error'>

/** True where the run of a build is lost, because its worker and its process ended or cannot reach Postgres. */
export function isStalled({ seconds_since_heartbeat: silent }: Pick<BuildListRow, 'seconds_since_heartbeat'>): boolean {
  return silent !== null && silent * 1_000 > BUILD_BOUNDS.buildLostAfterMs
}

/** Says in one line where a build stands, and what follows without anybody's help. */
export function buildStatus(row: Shown): string {
  switch (row.state) {
    case 'running':
      return isStalled(row)
        ? `no heartbeat since ${cell(row.updated_at)}; a job worker that runs takes the build over`
        : `running, last heartbeat ${row.seconds_since_heartbeat ?? 0} s ago`
    case 'retrying':
      return `attempt again at ${cell(row.next_attempt_at)}, because ${row.error ?? 'the last run ended'}`
    case 'queued':
      return 'waits for a job worker'
    case 'succeeded':
    case 'failed':
      return row.state
    default:
      return row.state satisfies never
  }
}
