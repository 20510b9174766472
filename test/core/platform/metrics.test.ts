import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { internalPage, serveInternal } from '#core/platform/internal-server.ts'
import { createLog } from '#core/platform/log.ts'
import { createBoundedNames, createRegistry, createTally, gauge } from '#core/platform/metrics.ts'

test('a tally counts by its labels, and past its bound as "other"', async () => {
  const registry = new Registry()
  const tally = createTally('evidence_searches_total')
  tally.register(registry)
  tally.add('x', '1')
  tally.add('x', '1')
  tally.add('x', '2')
  expect(await registry.metrics()).toMatch(/total\{version="x",code="1"\} 2\n.*total\{version="x",code="2"\} 1\n/)
  for (let n = 0; n < PLATFORM_BOUNDS.metricSeriesMax + 5; n++) tally.add('many', String(n))
  const text = await registry.metrics()
  expect(text).toContain('total{version="other",code="other"} 7\n')
  expect(text.match(/^evidence_searches_total\{/gm)).toHaveLength(PLATFORM_BOUNDS.metricSeriesMax + 1)
})

test('names past the bound are "other", the first stay', () => {
  const named = createBoundedNames(2)
  expect(['a', 'b', 'c', 'a', 'd'].map(named)).toEqual(['a', 'b', 'other', 'a', 'other'])
})

test('a gauge that cannot be read hides no other, and a scrape names release and events', async () => {
  const registry = createRegistry()
  gauge(registry, 'evidence_database_bytes', () => Promise.reject(new Error('away')))
  gauge(registry, 'evidence_dependency_up', () => [[{ dependency: 'redis' }, 3]])
  createLog('test', 'silent').warn('something odd')
  const text = await registry.metrics()
  expect(text).toContain('evidence_dependency_up{dependency="redis"} 3')
  expect(text).not.toMatch(/^evidence_database_bytes /m)
  expect(text).toMatch(/^evidence_build_info\{release="\d+\.\d+\.\d+",commit="[0-9a-f]*"\} 1$/m)
  expect(text).toContain('evidence_events_total{level="warn",event="something odd"} 1')
})

test('the internal port says what is wrong; a second process of a kind starts without its metrics', async () => {
  const lines: string[] = []
  const log = createLog('test', 'warn', (line) => lines.push(line))
  let faults: readonly string[] = []
  const internal = { registry: createRegistry(), ready: () => ({ faults }) }
  const server = await serveInternal('127.0.0.1:0', internal, log)
  const url = `http://127.0.0.1:${server.port}`
  try {
    expect((await fetch(`${url}/metrics`)).headers.get('content-type')).toContain('text/plain')
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    faults = ['stopping']
    expect(await (await fetch(`${url}/readyz`)).json()).toEqual({ status: 'not ready', faults })
    expect((await fetch(`${url}/readyz`)).status).toBe(503)
    expect((await fetch(`${url}/elsewhere`)).status).toBe(404)
    expect((await fetch(`${url}/livez`, { method: 'POST' })).status).toBe(404)
    const second = await serveInternal(`127.0.0.1:${server.port}`, internal, log)
    expect([second.port, lines.length]).toEqual([undefined, 1])
    await second.close()
    await expect(serveInternal(`127.0.0.1:${server.port}`, internal, log, 'fail')).rejects.toThrow('EADDRINUSE')
  } finally {
    await server.close()
  }
  expect(await internalPage(internal, '/nothing')).toBeUndefined()
})
