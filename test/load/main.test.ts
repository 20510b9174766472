import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { runScript } from '#test/support/processes.ts'
import { CHECKS } from './run.ts'
import { folderOfFile } from '#test/support/folder.ts'

const SCENARIOS = ['concurrency', 'minute', 'calendar', 'idempotency', 'crawl', 'disconnects', 'keys']

const phase = z.object({
  phase: z.string(),
  requests: z.number(),
  outcomes: z.array(z.object({ requests: z.number(), latency_ms: z.array(z.number()) })),
  cpu_ms_a_request: z.record(z.string(), z.number()),
})
const check = z.object({ name: z.string(), checked: z.number(), examples: z.array(z.object({ message: z.string() })) })
const reportSchema = z.object({
  scenarios: z.array(z.object({ name: z.string(), phases: z.array(phase).min(1), checks: z.array(check) })),
})

const folder = folderOfFile()
let code: number | null = null
let output = ''
let page = ''
let report: z.infer<typeof reportSchema>

/** A short run of the command against services of its own. */
beforeAll(async () => {
  const [json, html] = [join(folder, 'report.json'), join(folder, 'page.html')]
  const options = { gateways: 2, seconds: 3, seed: 11, 'data-dir': join(folder, 'data'), json, html }
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
  const scenarios = SCENARIOS.flatMap((name) => ['--scenario', name])
  ;({ code, output } = await runScript(['test/load/main.ts', ...scenarios, ...args]))
  report = reportSchema.parse(JSON.parse(readFileSync(json, 'utf8')))
  page = readFileSync(html, 'utf8')
})

test('every cap holds, and the command ends with exit code 0', () => {
  const examples = report.scenarios.flatMap(({ checks }) => checks).flatMap((one) => one.examples)
  expect(examples.map(({ message }) => message)).toEqual([])
  expect(code, output).toBe(0)
  for (const text of ['Every check that could be made holds.', 'Seed 11']) {
    expect(output).toContain(text)
    expect(page).toContain(text)
  }
})

test('every check has facts that it could have refused, and stands in output and page', () => {
  for (const { name } of CHECKS) {
    const facts = report.scenarios.flatMap(({ checks }) => checks).filter((one) => one.name === name)
    expect(Math.max(...facts.map(({ checked }) => checked)), name).toBeGreaterThan(0)
    expect(output).toContain(name)
    expect(page).toContain(name)
  }
})

test('every scenario is reported with its latencies by outcome and the CPU time of each service', () => {
  expect(report.scenarios.map(({ name }) => name)).toEqual(SCENARIOS)
  for (const { phases } of report.scenarios)
    for (const { phase: name, requests, outcomes } of phases) {
      expect(
        outcomes.reduce((sum, outcome) => sum + outcome.requests, 0),
        name,
      ).toBe(requests)
      for (const { latency_ms: latency } of outcomes) expect(latency.toSorted((a, b) => a - b)).toEqual(latency)
    }
  const crawl = report.scenarios.find(({ name }) => name === 'crawl')?.phases[0]
  for (const part of ['gateway', 'search node', 'jobs', 'Postgres', 'Redis', 'load generator'])
    expect(crawl?.cpu_ms_a_request[part], part).toBeGreaterThan(0)
  expect(page).not.toMatch(/NaN|undefined|Infinity/)
})

test('nothing is left of the services that the command started', () => {
  expect(readdirSync(join(folder, 'data'))).toEqual([])
})
