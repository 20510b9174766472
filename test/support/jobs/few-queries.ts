import { replaceModule } from '#test/support/replace-module.ts'

/** Loaded before a build's process: recall under filters, which takes most of a build, is measured with few queries. */
replaceModule(
  new URL('../../../jobs/evaluation/bounds.ts', import.meta.url),
  new URL('./few-queries-bounds.ts', import.meta.url),
)
