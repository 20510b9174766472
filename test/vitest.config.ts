import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { LongFilesFirst } from './support/long-files-first.ts'

function wholeNumberOf(name: 'FC_SEED' | 'FC_RUNS'): number | null {
  const given = process.env[name]
  return given === undefined || given === '' ? null : Number.parseInt(given, 10)
}

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    pool: 'forks',
    // Twice the cores of a small machine: many tests wait for deadlines.
    maxWorkers: 4,
    sequence: { sequencer: LongFilesFirst },
    // For a test that awaits what never settles. A wait fails by itself where nothing progresses (support/until.ts).
    testTimeout: 1_200_000,
    hookTimeout: 1_200_000,
    teardownTimeout: 300_000,
    retry: 0,
    allowOnly: false,
    passWithNoTests: false,
    setupFiles: ['test/support/fast-check.ts'],
    provide: { fastCheck: { seed: wholeNumberOf('FC_SEED'), runs: wholeNumberOf('FC_RUNS') } },
    // A global setup runs before the root's: each project has its servers, and only a project with files to run starts
    // them.
    projects: [
      {
        extends: true,
        test: {
          name: 'parts',
          include: ['test/**/*.test.ts'],
          exclude: ['test/contract/**'],
          globalSetup: ['test/support/setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'contract',
          include: ['test/contract/**/*.test.ts'],
          globalSetup: ['test/support/setup.ts', 'test/support/contract/setup.ts'],
        },
      },
    ],
  },
})
