import { fileURLToPath } from 'node:url'

/**
 * For NODE_COMPILE_CACHE of the processes that tests start: a start is half of what a short process costs. It is the
 * folder that the bootstrap uses.
 */
export const COMPILE_CACHE = fileURLToPath(new URL('../../node_modules/.cache/compile', import.meta.url))
