import { replaceModule } from '#test/support/processes.ts'

/**
 * Loaded before a gateway's `main.ts`, as `preload.ts?file=PATH`: the gateway is the real one, with the fault that the
 * file names. The load test must find each by the name of a check.
 */
const { search } = new URL(import.meta.url)

function replace(original: string, replacement: string): void {
  replaceModule(new URL(original, import.meta.url), new URL(`${replacement}${search}`, import.meta.url))
}

replace('../../../core/db/reservations.ts', './faulty-reservations.ts')
replace('../../../core/limits/counters.ts', './faulty-counters.ts')
