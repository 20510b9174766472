import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Parts of the paths of files that take longest. Those that mostly wait and those that mostly compute take turns, so
 * that neither the processors nor the workers are idle.
 */
const LONG = [
  'test/faults/postgres',
  'test/load/run',
  'test/jobs/version-build/resume',
  'test/scenarios/stop',
  'test/jobs/version-build/comparison',
  'test/faults/uncertain-outcome',
  'test/load/main',
  'test/faults/redis',
  'test/search-node/threads/unload',
  'test/jobs/version-build/lost-worker',
  'test/docs/commands',
  'test/faults/gateway-killed',
  'test/bench/bench',
  'test/scenarios/activation',
  'test/operator/evaluate/',
  'test/jobs/version-build/',
  'test/faults/',
  'test/scenarios/',
  'test/operator/',
  'test/operator/demo/',
  'test/search-node/',
] as const

/** Begins long files first, then others by size: a checkout without earlier results does not end with a long one. */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONG.findIndex((part) => moduleId.includes(part))
      return at === -1 ? LONG.length : at
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}
