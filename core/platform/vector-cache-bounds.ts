/** Bounds of the cache of vectors that a provider sent; part of `BOUNDS`. */
export const VECTOR_CACHE_BOUNDS = {
  /** Batches of a build that a provider has at once. */
  embedConcurrencyMax: 64,
  embedConcurrencyDefault: 4,
  /** First request to an endpoint that a command line names. */
  flaggedEndpointRetryMs: 10_000,
  vectorCacheBytesDefault: 4 * 1024 ** 3,
  vectorCacheBytesMax: 1024 ** 4,
  /** Page cache of one process. */
  vectorCachePagesKib: 16 * 1024,
  /** Wait for another process that writes to the file. */
  vectorCacheBusyTimeoutMs: 5_000,
  /** The same in the job worker, whose event loop stands still meanwhile. */
  vectorCacheShrinkTimeoutMs: 100,
  /** Faults of the file after which a build goes on without it. */
  vectorCacheFaultsMax: 5,
  /** Age of the time of the last use below which another use does not write it again. */
  vectorCacheUseSeconds: 3_600,
  /** Vectors removed in one transaction; more than a build adds in one. */
  vectorCacheEvictRows: 4_096,
  /** Pages returned to the file system in one transaction. */
  vectorCacheVacuumPages: 1_024,
  /** Difference of the squared length from 1 that float32 explains. */
  unitLengthTolerance: 1e-3,
  /** Cosine of two vectors of one text below which they are of different models. */
  sameModelCosineMin: 0.999,
} as const
