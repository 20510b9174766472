import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { LongFilesFirst } from './support/long-files-first.ts'

/** Whole services on one published version, which the tests of the contract share. */
const CONTRACT = ['test/contract/**/*.test.ts']

/** Versions in an OpenSearch cluster, which needs a JDK. `npm run test:all` runs them. */
const ENGINE = ['test/engine/**/*.test.ts']

/** A server that speaks S3, which pip fetches once. `npm run test:all` runs them. */
const OBJECTS = ['test/object-store/**/*.test.ts']

/** Command lines that serve the development, and imports of whole corpora. `npm run test:all` runs them. */
const TOOLS = [
  'test/bench/**/*.test.ts',
  'test/load/**/*.test.ts',
  'test/fleet/main.test.ts',
  'test/quality/**/*.test.ts',
  'test/docs/commands.test.ts',
  'test/scenarios/published-law/*.test.ts',
  'test/jobs/{version-build/page,trace}/browser.test.ts',
  'test/operator/bootstrap.test.ts',
  'test/operator/demo/*.test.ts',
  'test/law/import/corpus/real-corpora.test.ts',
  'test/operator/evaluate/{main,field-questions}.test.ts',
  'test/jobs/evaluation/reader-over-http.test.ts',
]

/** Tests of parts that take long: searches of many rows, whole search nodes, hostile files. `npm run test:all` runs them. */
const LONG = [
  'test/core/index/format/{fixed-digest,hash-threads,verify,writer}.test.ts',
  'test/core/index/vectors/*.test.ts',
  'test/gateway/retrieve/encoder-faults.test.ts',
  'test/jobs/evaluation/calibration/cross-encoder.test.ts',
  'test/jobs/evaluation/compare/{contents,search-questions}.test.ts',
  'test/law/import/{linear-cost,repeated-ids}.test.ts',
  'test/law/readers/{bad-files,mutated-files,raw-files}.test.ts',
  'test/operator/command-line/embedding-flags.test.ts',
  'test/search-node/*.test.ts',
  'test/search-node/search/{hybrid,pipeline,predictors,rescore}.test.ts',
  'test/search-node/search/candidates/{vectors,words}/*.test.ts',
  'test/search-node/threads/*.test.ts',
]

/** Tests of parts that need Postgres or Redis. `npm run test:all` runs them. */
const SERVICES = [
  'test/core/{db,limits,redis}/**/*.test.ts',
  'test/{editors,faults,scenarios}/**/*.test.ts',
  'test/jobs/{activate,platform,trace,version-build,worker}/**/*.test.ts',
  'test/operator/**/*.test.ts',
  'test/law/import/left-out.test.ts',
  'test/jobs/capture/{clone,pipeline,places,schedule}.test.ts',
  'test/deploy/{alerts,observability}.test.ts',
]

/** The seed of every random draw. `npm run test:soak` draws another one for each round. */
const SEED = 20_261

function wholeNumberOf(name: 'FC_SEED' | 'FC_RUNS'): number | undefined {
  const given = process.env[name]
  return given === undefined || given === '' ? undefined : Number.parseInt(given, 10)
}

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    pool: 'forks',
    // Twice the cores of a small machine: many tests wait for deadlines.
    maxWorkers: 4,
    // Files of one process share their modules: loading them costs more than most files.
    isolate: false,
    sequence: { sequencer: LongFilesFirst },
    // For a test that awaits what never settles. A wait fails by itself where nothing progresses (support/until.ts).
    testTimeout: 1_200_000,
    hookTimeout: 1_200_000,
    teardownTimeout: 300_000,
    retry: 0,
    allowOnly: false,
    passWithNoTests: false,
    setupFiles: ['test/support/fast-check.ts', 'test/support/utc-day.ts'],
    provide: { random: { seed: wholeNumberOf('FC_SEED') ?? SEED, runs: wholeNumberOf('FC_RUNS') ?? null } },
    // Each project has its own servers, and starts them only if it has files to run.
    projects: [
      {
        extends: true,
        test: {
          name: 'parts',
          include: ['test/**/*.test.ts'],
          exclude: [...CONTRACT, ...TOOLS, ...SERVICES, ...ENGINE, ...OBJECTS, ...LONG],
        },
      },
      { extends: true, test: { name: 'long', include: LONG, exclude: SERVICES } },
      {
        extends: true,
        test: { name: 'services', include: SERVICES, exclude: TOOLS, globalSetup: ['test/support/servers.ts'] },
      },
      {
        extends: true,
        test: {
          name: 'contract',
          include: CONTRACT,
          globalSetup: ['test/support/servers.ts', 'test/contract/setup.ts'],
        },
      },
      { extends: true, test: { name: 'tools', include: TOOLS, globalSetup: ['test/support/servers.ts'] } },
      { extends: true, test: { name: 'objects', include: OBJECTS, globalSetup: ['test/support/servers.ts'] } },
      {
        extends: true,
        test: {
          name: 'engine',
          include: ENGINE,
          globalSetup: ['test/support/servers.ts'],
          // Each file has a cluster of its own.
          maxWorkers: 1,
        },
      },
    ],
  },
})
