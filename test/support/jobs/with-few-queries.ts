/** NODE_OPTIONS of a process that builds or evaluates, where its subject is not the recall under filters. */
export const WITH_FEW_QUERIES = `--import=${new URL('./few-queries.ts', import.meta.url).href}`
