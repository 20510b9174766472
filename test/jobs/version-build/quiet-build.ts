import type { BuildContext } from '#jobs/version-build/context.ts'
import { VECTORS_OF_ONE_BUILD } from '#jobs/version-build/text-vectors.ts'

/** What a build tells, and where it keeps vectors, for a test that needs neither. */
export const QUIET_BUILD: Pick<BuildContext, 'progress' | 'vectors' | 'warn'> = {
  progress: { begin: () => Promise.resolve(), at: () => undefined, embedded: () => Promise.resolve() },
  vectors: VECTORS_OF_ONE_BUILD,
  warn: () => undefined,
}
