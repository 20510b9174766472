import { createBoundOrder } from '#core/platform/bound-order.ts'
import { JOB_BOUNDS } from '#jobs/platform/bounds.ts'

export const BUILD_BOUNDS = {
  // Runs.
  /**
   * Waits between the runs of a build double from one second to one minute. An embedding provider or search tier may be
   * unavailable for eight minutes before a build fails.
   */
  buildFailedRunsMax: 14,
  buildRetryFirstMs: 1_000,
  buildRetryMaxMs: 60_000,
  buildOutOfMemoryRunsMax: 2,
  /** Runs whose worker gave no sign. A worker that is killed with its build for memory gives none. */
  buildLostRunsMax: 3,
  buildHeartbeatEveryMs: 5_000,
  costWatchEveryMs: 250,
  /** Processor time of one run of a build, all its threads together. */
  buildCpuSecondsMax: 172_800,
  /** Age of its last heartbeat after which a run counts as lost, and another one takes the build over. */
  buildLostAfterMs: 20_000,
  /** Time for which a failed build can be asked for again. Its stage outputs are kept a little longer. */
  failedBuildRetryableMs: 86_400_000,

  // Process of a build.
  buildStatementTimeoutMs: 60_000,
  buildStandardErrorCharactersKept: 8_192,
  buildHeapDefaultMbMin: 512,
  buildHeapDefaultMbMax: 16_384,

  // Page for reviewers of a first version.
  /** Passages of each kind, and documents of which one is shown. */
  sampledOfKindMax: 8,
  sampledDocumentsMax: 60,
  /** Characters of the source that are shown before and after a sampled passage, and those, or bytes, that are read. */
  sampledContextCharacters: 300,
  sampledAroundCharacters: 1_200,
  /** Omissions, losses and differences of a mapping that the page lists. */
  importFindingsShownMax: 500,

  // Steps.
  buildProgressEveryMs: 500,
  buildProgressLogEveryMs: 30_000,
  /** Sorted rows after which the event loop gets a turn. */
  sortYieldEveryRows: 500,
  /** Passages embedded and written as one durable step of a build. */
  vectorFileRows: 2_048,
  /** Cosine of two vectors of one text below which they are of different models. */
  sameModelCosineMin: 0.999,
  /** Sample queries that measure the spread of a version's cosines. */
  cosineQueries: 100,

  // Search questions.
  searchQuestionLineBytesMax: 8_192,
  searchQuestionCharactersMax: 400,
  searchQuestionsPerPassageMax: 20,
  /** All are in memory while the artifact is written. */
  searchQuestionsMax: 1_000_000,
  searchQuestionsBytesMax: 268_435_456,
  /** Questions that a model is asked for, for each passage. */
  searchQuestionsWritten: 2,
  /** Passages of one request to the model. */
  searchQuestionBatchPassages: 8,
  /** Tokens of one passage that the model may write. */
  searchQuestionTokensMax: 300,
  searchQuestionReplyBytesMax: 16_384,
} as const

const { assertLess } = createBoundOrder({ ...JOB_BOUNDS, ...BUILD_BOUNDS })

assertLess('buildHeartbeatEveryMs', 'buildLostAfterMs')
assertLess('buildRetryFirstMs', 'buildRetryMaxMs')
assertLess('buildOutOfMemoryRunsMax', 'buildFailedRunsMax')
assertLess('buildLostRunsMax', 'buildFailedRunsMax')
assertLess('buildHeapMbMin', 'buildHeapDefaultMbMin')
assertLess('failedBuildRetryableMs', 'garbageFailedBuildsOlderThanMs')
