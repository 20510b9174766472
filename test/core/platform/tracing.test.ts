import { expect, test } from 'vitest'
import { runScript } from '#test/support/processes.ts'

/** Prints each module of OpenTelemetry that is loaded; prom-client loads its API. */
const HOOK = `
import { registerHooks } from 'node:module'
registerHooks({
  load(url, context, next) {
    if (/@opentelemetry\\/(?!api\\/)/.test(url)) process.stdout.write(\`loaded \${url}\\n\`)
    return next(url, context)
  },
})`
const inModule = (text: string): string => `data:text/javascript,${encodeURIComponent(text)}`

async function loadedBy(...args: readonly string[]): Promise<readonly string[]> {
  const { output } = await runScript(['--import', inModule(HOOK), ...args], {}, { PATH: '/usr/bin:/bin' })
  return output.split('\n').filter((line) => line.startsWith('loaded '))
}

const starting = (endpoint: string): readonly string[] => [
  '--input-type=module',
  '--eval',
  `const { startTracing, traced } = await import('#core/platform/tracing.ts')
  await startTracing('test', { OTEL_EXPORTER_OTLP_ENDPOINT: ${endpoint} }, undefined)
  await traced('work', { root: true }, async () => undefined)
  process.exit()`,
]

test.each(['gateway/main.ts', 'search-node/main.ts', 'jobs/worker/main.ts'])(
  '%s loads no SDK for traces at start',
  async (script) => {
    expect(await loadedBy(script)).toEqual([])
  },
)

test('only a configured collector has the SDK loaded', async () => {
  expect(await loadedBy(...starting('undefined'))).toEqual([])
  expect(await loadedBy(...starting('"http://127.0.0.1:1"'))).not.toEqual([])
})
