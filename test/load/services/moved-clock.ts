import { replaceModule } from '#test/support/processes.ts'

/** Loaded before a gateway's `main.ts`: its limits go by a clock of Redis that the run moves. */
replaceModule(
  new URL('../../../core/limits/counters.ts', import.meta.url),
  new URL('./moved-counters.ts', import.meta.url),
)
