import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { runScript } from '#test/support/processes.ts'
import { folderOfFile } from '#test/support/folder.ts'

const positive = z.number().positive()
const path = z.object({ answered: positive, failed: z.literal(0), per_second: positive })
const recall = z.number().min(0.98)
const found = z.object({ recall_at_5: recall, recall_at_10: recall, grpc_same: z.literal(1), full_same: z.literal(1) })
/** Speed is not judged; what is said of each figure holds for it. */
const resultSchema = z.object({
  durability: z.record(z.string(), z.literal('on')),
  cells: z.array(
    z.object({
      selectivity: z.string(),
      clients: z.number(),
      paths: z.object({ raw: path, dense: path, grpc: path, full: path }),
      gateway: z.object({ own_p50_ms: positive }),
    }),
  ),
  found: z.object({ unfiltered: found, '22 %': found, '1.8 %': found }),
  disk: z.object({ megabytes: positive, files: z.record(z.string(), z.number()) }),
  open_ms: positive,
  node_megabytes: positive,
  build: z.object({ draw_seconds: positive, write_seconds: positive, peak_megabytes: positive }),
  delivered: positive,
  ledger: z.object({
    open: z.literal(0),
    reservations: positive,
    delivered: positive,
    charged: positive,
    entries: positive,
  }),
  thresholds: z.array(z.object({ name: z.string(), measured: z.string(), met: z.boolean() })),
})

const folder = folderOfFile()
let code: number | null = null
let output = ''
let result: z.infer<typeof resultSchema>

/** As small as possible, because the test does not measure speed. */
beforeAll(async () => {
  const [json, html] = [join(folder, 'result.json'), join(folder, 'page.html')]
  const size = ['--passages', '2000', '--dimensions', '64', '--seconds', '0.02']
  const args = [...size, '--json', json, '--html', html, '--data-dir', join(folder, 'bench')]
  ;({ code, output } = await runScript(['test/bench/main.ts', ...args]))
  result = resultSchema.parse(JSON.parse(readFileSync(json, 'utf8')))
})

test('measures every path at every selectivity and number of clients, without a failure', () => {
  expect(result.cells.map(({ selectivity, clients }) => `${selectivity} ${clients}`)).toEqual(
    ['unfiltered', '22 %', '1.8 %'].flatMap((selectivity) => [1, 8, 32].map((clients) => `${selectivity} ${clients}`)),
  )
})

test('ends with one charged ledger entry for every reply, on durable commits', () => {
  const { ledger, delivered, durability } = result
  expect(ledger).toMatchObject({ entries: ledger.reservations, delivered, charged: delivered })
  expect(Object.keys(durability)).toEqual(['fsync', 'synchronous_commit', 'full_page_writes'])
  expect(result.thresholds).toContainEqual(
    expect.objectContaining({ name: 'every request has its ledger entry', met: true }),
  )
})

test('prints the tables and each threshold that is missed; the exit code says whether one was', () => {
  const page = readFileSync(join(folder, 'page.html'), 'utf8')
  const titles = ['Questions a second, by path', 'Artifact and machine', 'Thresholds']
  for (const text of [...titles, 'passages.jsonl', 'recall@5 / @10']) {
    expect(output).toContain(text)
    expect(page).toContain(text)
  }
  const missed = result.thresholds.filter((threshold) => !threshold.met)
  expect(code).toBe(missed.length === 0 ? 0 : 1)
  // A step may have the name of a threshold.
  for (const { name, measured } of missed)
    expect(output.split('\n').findLast((line) => line.includes(name))).toContain(measured)
})
