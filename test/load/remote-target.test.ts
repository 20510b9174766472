import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startProvider } from './embedded/provider-process.ts'
import { KNOWLEDGE_BASE, startTestService } from '#test/support/service.ts'
import type { Caller, TestService } from '#test/support/service.ts'
import { checkedIn, readReport, startLoadCommand, violationsIn } from './command.ts'
import type { LoadCommand } from './command.ts'
import { until } from '#test/support/until.ts'

const CAP = 4
const SLOW_MS = 800

let service: TestService
let folder = ''

/** A deployment that is slow enough for leases to overlap. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'evidence-load-outside-'))
  const provider = await startProvider(folder)
  service = await startTestService({ environment: provider.environment, embedding: 'openai' })
  service.add(provider)
  const behaviour = JSON.stringify({ latencyMs: SLOW_MS, failing: false })
  expect((await fetch(`${provider.baseUrl}/behaviour`, { method: 'PUT', body: behaviour })).status).toBe(204)
})
afterAll(async () => {
  await service.stop()
  rmSync(folder, { recursive: true, force: true })
})

function startAgainst({ key }: Caller, name: string, ...args: readonly string[]): LoadCommand {
  const target = { url: service.gateways[0]?.baseUrl ?? '', key, 'knowledge-base': KNOWLEDGE_BASE, seed: '3' }
  const options = Object.entries({ ...target, json: join(folder, `${name}.json`) })
  return startLoadCommand([...options.flatMap(([option, value]) => [`--${option}`, value]), ...args])
}

test('a deployment that keeps its cap passes, and what replies cannot show is named', async () => {
  const caller = await service.createCaller({ limits: { concurrency: CAP } })
  const args = ['--concurrency', String(CAP), '--scenario', 'concurrency', '--scenario', 'idempotency']
  const command = startAgainst(caller, 'keeps', ...args, '--scenario', 'calendar', '--seconds', '4')
  expect(await command.code, command.output()).toBe(0)
  const report = readReport(join(folder, 'keeps.json'))
  expect(report.mode).toBe('url')
  expect(report.scenarios.map(({ name }) => name)).toEqual(['concurrency', 'idempotency'])
  for (const name of ['catalogue', 'answered', 'idempotency', 'concurrency-cap', 'minute-rate'])
    expect(checkedIn(report)[name], name).toBeGreaterThan(0)
  for (const sentence of [
    'The scenario calendar is left out: it needs plans, a clock or a provider of its own.',
    'The check ledger-row is not made: replies do not show what the service recorded.',
    'The check concurrency-cap is made in part: replies prove only a lower bound.',
  ]) {
    expect(report.left_out).toContain(sentence)
    expect(command.output()).toContain(sentence)
  }
})

test('replies prove a cap that is not kept, and the command ends with exit code 1', async () => {
  const caller = await service.createCaller({ limits: { concurrency: CAP } })
  const command = startAgainst(caller, 'exceeds', '--concurrency', '2', '--scenario', 'concurrency', '--seconds', '2')
  expect(await command.code, command.output()).toBe(1)
  const [first] = violationsIn(readReport(join(folder, 'exceeds.json')))
  expect(first).toMatch(/^concurrency-cap: \d requests held a lease at once, .*; the plan allows 2$/)
})

test('an interrupted run ends what is under way, reports it and has the exit code of an interruption', async () => {
  const caller = await service.createCaller({ limits: { concurrency: 100 } })
  const command = startAgainst(caller, 'interrupted', '--scenario', 'disconnects', '--seconds', '600')
  await until('some requests are answered', (seen) => {
    const output = command.output()
    seen(output)
    return /disconnects: .* × 200/.test(output)
  })
  process.kill(command.pid, 'SIGINT')
  expect(await command.code, command.output()).toBe(130)
  const report = readReport(join(folder, 'interrupted.json'))
  expect(report.interrupted).toBe(true)
  const [phase] = report.scenarios[0]?.phases ?? []
  expect(phase?.outcomes.map(({ outcome }) => outcome)).toContain('200')
  expect(violationsIn(report)).toEqual([])
})
