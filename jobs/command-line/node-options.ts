/**
 * Options of Node with which a search node starts, as `docker-compose.yml` has them: semi-spaces of the young
 * generation of all its threads (decision 0030).
 */
export const SEARCH_NODE_OPTIONS: readonly string[] = ['--max-semi-space-size=8']

/** Those of the encoder, whose event loop makes tokens: a larger young generation only takes memory. */
export const ENCODER_OPTIONS: readonly string[] = ['--max-semi-space-size=4']

/**
 * Environment of the encoder. What ONNX Runtime allocates and frees while it opens a model goes back to the system only
 * where glibc maps it by itself (decision 0041).
 */
export const ENCODER_MALLOC = { MALLOC_MMAP_THRESHOLD_: '65536' } as const
