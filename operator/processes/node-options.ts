/**
 * Options of Node with which a search node starts, as `docker-compose.yml` has them: semi-spaces of the young
 * generation of all its threads (decision 0032).
 */
export const SEARCH_NODE_OPTIONS: readonly string[] = ['--max-semi-space-size=8']

/**
 * Those of the encoder, whose event loop makes tokens. A larger young generation only takes memory, and the smaller the
 * old generation may become, the less garbage V8 leaves in it (decision 0041).
 */
export const ENCODER_OPTIONS: readonly string[] = ['--max-semi-space-size=1', '--max-old-space-size=512']

/**
 * Environment of the encoder. What ONNX Runtime allocates and frees while it opens a model goes back to the system only
 * where glibc maps it by itself; one arena for all threads leaves fewer gaps (decision 0041).
 */
export const ENCODER_MALLOC = { MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_ARENA_MAX: '1' } as const
