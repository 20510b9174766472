import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { isSettled } from './ledger.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

const path = z.object({ answered: z.number(), failed: z.number(), per_second: z.number() })
const latency = z.object({ searches: z.number(), p50_ms: z.number(), p99_ms: z.number(), cpu_ms: z.number() })
const resultSchema = z.object({
  durability: z.record(z.string(), z.string()),
  cells: z.array(
    z.object({
      selectivity: z.string(),
      clients: z.number(),
      paths: z.object({ raw: path, dense: path, grpc: path, full: path }),
      gateway: z.object({ own_p50_ms: z.number() }),
    }),
  ),
  found: z.record(
    z.string(),
    z.object({ recall_at_5: z.number(), recall_at_10: z.number(), grpc_same: z.number(), full_same: z.number() }),
  ),
  inside: z.object({
    lexical: latency,
    dense: latency,
    hybrid: latency,
    unasked: z.array(z.string()),
    narrow: z.array(
      z.object({ name: z.string(), allowed: z.number(), hybrid: latency, dense: latency, recall_at_10: z.number() }),
    ),
  }),
  memory: z.array(
    z.object({
      threads: z.number(),
      without_version: z.number(),
      one_version: z.number(),
      two_versions: z.number(),
    }),
  ),
  disk: z.object({ megabytes: z.number(), files: z.record(z.string(), z.number()) }),
  swap: z.object({ answered: z.number(), failed: z.number() }),
  build: z.object({ draw_seconds: z.number(), write_seconds: z.number(), peak_megabytes: z.number() }),
  ledger: z.object({
    reservations: z.number(),
    open: z.number(),
    delivered: z.number(),
    charged: z.number(),
    entries: z.number(),
  }),
  refusals: z.array(z.object({ stage: z.string(), status: z.number(), requests: z.number(), own_p50_ms: z.number() })),
  rebuild: z.object({
    deliveries: z.number(),
    without: z.object({ admissions: z.number() }),
    rebuilds: z.array(z.object({ seconds: z.number(), stall_ms: z.number(), passages: z.number() })),
  }),
  thresholds: z.array(z.object({ name: z.string(), measured: z.string(), met: z.boolean() })),
})

let folder = ''
let code: number | null = null
let output = ''
let result: z.infer<typeof resultSchema>

/** As small as possible, because the test does not measure speed. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'evidence-bench-'))
  const files = [
    '--json',
    join(folder, 'result.json'),
    '--html',
    join(folder, 'page.html'),
    '--data-dir',
    join(folder, 'bench'),
  ]
  const child = spawn(
    process.execPath,
    [
      'test/bench/main.ts',
      '--passages',
      '2000',
      '--dimensions',
      '64',
      '--seconds',
      '0.02',
      '--deliveries',
      '300',
      ...files,
    ],
    { cwd: ROOT },
  )
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  code = await new Promise((resolve) => child.once('close', resolve))
  result = resultSchema.parse(JSON.parse(readFileSync(join(folder, 'result.json'), 'utf8')))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('measures every path at every selectivity and number of clients, without a failure', () => {
  const names = result.cells.map((cell) => `${cell.selectivity} ${cell.clients}`)
  expect(names).toEqual(
    ['unfiltered', '22 %', '1.8 %'].flatMap((selectivity) => [1, 8, 32].map((clients) => `${selectivity} ${clients}`)),
  )
  for (const { paths, gateway } of result.cells) {
    for (const measured of Object.values(paths))
      expect(measured).toMatchObject({ answered: expect.toSatisfy((count: number) => count > 0), failed: 0 })
    expect(gateway.own_p50_ms).toBeGreaterThan(0)
  }
})

test('finds what an exact search finds, under every filter, and the same lists on every path', () => {
  for (const found of Object.values(result.found)) {
    expect(Math.min(found.recall_at_5, found.recall_at_10)).toBeGreaterThanOrEqual(0.98)
    expect(found).toMatchObject({ grpc_same: 1, full_same: 1 })
  }
  for (const { name, recall_at_10 } of result.inside.narrow) expect(recall_at_10, name).toBeGreaterThanOrEqual(0.98)
})

test(
  'measures words, vectors and both within the node, under random filters, and under filters that keep ' +
    'what a question is about, exclude it, or are farthest from it',
  () => {
    const names = [
      'none 100',
      ...[50, 10, 1, 0.1, 0.01].map((percent) => `random ${percent}`),
      ...[50, 10, 1, 0.1, 0.01].flatMap((percent) => ['near', 'far', 'farthest'].map((kind) => `${kind} ${percent}`)),
    ]
    const { unasked } = result.inside
    expect(unasked.every((name) => /^(near|farthest) 0\.0?1 %$/.test(name))).toBe(true)
    expect(result.inside.narrow.map(({ name }) => name)).toEqual(
      names.map((name) => `${name} %`).filter((name) => !unasked.includes(name)),
    )
    for (const name of unasked) expect(output).toContain(`${name}: the filter allows no passage to ask about.`)
    const shares = result.inside.narrow.map(({ allowed }) => allowed / 2_000)
    for (const [at, share] of [1, 0.5, 0.1].entries()) expect(Math.abs((shares[at] ?? 0) - share)).toBeLessThan(0.05)
    const { lexical, dense, hybrid, narrow } = result.inside
    for (const line of [lexical, dense, hybrid, ...narrow.flatMap((task) => [task.hybrid, task.dense])])
      expect(line.searches).toBeGreaterThan(0)
  },
)

test('reports the memory of a node by threads and versions, and the bytes of each file', () => {
  expect(result.memory.map(({ threads }) => threads)).toEqual([2, 3])
  for (const { without_version, one_version, two_versions } of result.memory) {
    expect(without_version).toBeGreaterThan(0)
    expect(one_version).toBeGreaterThan(without_version)
    expect(two_versions).toBeGreaterThan(0)
  }
  expect(result.disk.files['passages.jsonl']).toBeGreaterThan(0)
  const bytes = Object.values(result.disk.files).reduce((sum, each) => sum + each, 0)
  expect(bytes / 1_048_576).toBeCloseTo(result.disk.megabytes, 3)
})

test('changes to another version under load without a failed request', () => {
  expect(result.swap.failed).toBe(0)
  expect(result.swap.answered).toBeGreaterThan(0)
})

test('sends the dearest requests that each stage refuses, and charges none of them', () => {
  const stages = new Set(['none', 'authenticate', 'parse', 'entitle', 'narrow', 'admit'])
  expect(new Set(result.refusals.map(({ stage }) => stage))).toEqual(stages)
  for (const { status, requests, own_p50_ms } of result.refusals) {
    expect(status).toBeGreaterThanOrEqual(400)
    expect(requests).toBeGreaterThan(0)
    expect(own_p50_ms).toBeGreaterThan(0)
  }
  const limits = result.thresholds.filter(({ name }) => name.startsWith('own time of a refusal'))
  expect(new Set(limits.map(({ name }) => name.split(' ').at(-1)))).toEqual(stages)
})

test('rebuilds the counters of an organization from its deliveries while others are served', () => {
  const { deliveries, without, rebuilds } = result.rebuild
  expect(deliveries).toBe(300)
  expect(without.admissions).toBeGreaterThan(0)
  for (const { seconds, stall_ms, passages } of rebuilds) {
    expect(Math.min(seconds, stall_ms)).toBeGreaterThan(0)
    expect(passages).toBeGreaterThan(deliveries)
    expect(passages).toBeLessThanOrEqual(deliveries * 5)
  }
  expect(new Set(rebuilds.map(({ passages }) => passages)).size).toBe(1)
  expect(result.thresholds.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['rebuild of 300 deliveries', 'longest stall of the event loop in a rebuild, CPU time']),
  )
})

test('ends with one charged ledger entry for every reply, on durable commits', () => {
  const { ledger, durability } = result
  expect(isSettled(ledger)).toBe(true)
  const answered = result.cells.reduce((sum, cell) => sum + cell.paths.full.answered, 0)
  expect(ledger.delivered).toBeGreaterThan(answered)
  expect(ledger.charged).toBe(ledger.delivered)
  expect(durability).toEqual({ fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' })
  expect(result.thresholds.find((threshold) => threshold.name === 'every request has its ledger entry')).toMatchObject({
    met: true,
  })
})

test('prints the table and names each threshold that is missed; the exit code says whether one was', () => {
  for (const head of [
    'recall@5 / @10',
    'two at a time',
    'of unfiltered',
    'build memory',
    'refused by',
    'longest stall',
  ])
    expect(output).toContain(head)
  const missed = result.thresholds.filter((threshold) => !threshold.met)
  expect(code).toBe(missed.length === 0 ? 0 : 1)
  for (const threshold of missed) expect(output).toContain(`${threshold.name} (${threshold.measured}`)
  const page = readFileSync(join(folder, 'page.html'), 'utf8')
  for (const part of ['<svg', 'Requests that are refused', 'Rebuild of limit counters']) expect(page).toContain(part)
})
