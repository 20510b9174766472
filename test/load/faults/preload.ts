import { replaceModule } from '#test/support/processes.ts'

/**
 * Loaded before a gateway's `main.ts`, as `preload.ts?fault=NAME`: the gateway is the real one with that one fault. The
 * load test must find each by the name of a check.
 */
const { search } = new URL(import.meta.url)

function replace(original: string, replacement: string): void {
  replaceModule(new URL(original, import.meta.url), new URL(`${replacement}${search}`, import.meta.url))
}

if (search === '?fault=lost-refund') replace('../../../core/db/reservations.ts', './faulty-reservations.ts')
else replace('../../../core/limits/counters.ts', './faulty-counters.ts')
