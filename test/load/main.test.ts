import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkedIn, readReport, startLoadCommand, violationsIn } from './command.ts'
import type { ReadReport } from './command.ts'
import { CHECKS } from './checks/list.ts'

const SCENARIOS = ['concurrency', 'minute', 'calendar', 'idempotency', 'crawl', 'disconnects', 'keys']

let folder = ''
let code: number | null = null
let output = ''
let report: ReadReport

/** A short run of the command against services of its own. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'evidence-load-command-'))
  const [json, html] = [join(folder, 'report.json'), join(folder, 'page.html')]
  const command = startLoadCommand([
    ...SCENARIOS.flatMap((name) => ['--scenario', name]),
    ...Object.entries({ gateways: 2, seconds: 3, seed: 11, 'data-dir': join(folder, 'data'), json, html }).flatMap(
      ([name, value]) => [`--${name}`, String(value)],
    ),
  ])
  code = await command.code
  output = command.output()
  report = readReport(join(folder, 'report.json'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('every cap holds, and the command ends with exit code 0', () => {
  expect(violationsIn(report)).toEqual([])
  expect(code, output).toBe(0)
  expect(output).toContain('Every check that could be made holds.')
  expect(output).toContain('Seed 11')
})

test('every check has facts that it could have refused', () => {
  const checked = checkedIn(report)
  expect(Object.keys(checked)).toEqual(CHECKS.map(({ name }) => name))
  for (const [name, facts] of Object.entries(checked)) expect(facts, name).toBeGreaterThan(0)
})

test('every scenario is reported with its latencies by outcome and the CPU time of each service', () => {
  expect(report.scenarios.map(({ name }) => name)).toEqual(SCENARIOS)
  for (const { name, phases } of report.scenarios) {
    expect(phases.length, name).toBeGreaterThan(0)
    for (const { phase, requests, outcomes } of phases) {
      expect(
        outcomes.reduce((sum, outcome) => sum + outcome.requests, 0),
        phase,
      ).toBe(requests)
      for (const { latency_ms: latency } of outcomes) expect(latency.toSorted((a, b) => a - b)).toEqual(latency)
    }
  }
  const crawl = report.scenarios.find(({ name }) => name === 'crawl')?.phases[0]
  for (const part of ['gateway', 'search node', 'jobs', 'Postgres', 'Redis', 'provider', 'load generator'])
    expect(crawl?.cpu_ms_a_request?.[part], part).toBeGreaterThan(0)
})

test('the page draws what was admitted against its cap, and the latencies', () => {
  const page = readFileSync(join(folder, 'page.html'), 'utf8')
  expect(page).toMatch(/<h3>leases of capped<\/h3>\s*<figcaption>Against the cap of 8\./)
  expect(page).toMatch(/<h3>admissions of rated in 60 s<\/h3>\s*<figcaption>Against the cap of 60\./)
  expect(page).toContain('<h3>Latency by percentile</h3>')
  for (const { name } of CHECKS) expect(page).toContain(name)
  expect(page).not.toMatch(/NaN|undefined|Infinity/)
})

test('nothing is left of the services that the command started', () => {
  expect(readdirSync(join(folder, 'data'))).toEqual([])
})
