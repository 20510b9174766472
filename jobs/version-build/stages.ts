/** Stages of a build, in order. */
export const BUILD_STAGES = ['import', 'sort', 'embed', 'artifact', 'verify', 'evaluate', 'candidate'] as const
export type BuildStage = (typeof BUILD_STAGES)[number]
