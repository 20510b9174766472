import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { runScript } from '#test/support/processes.ts'
import { folderOfFile } from '#test/support/folder.ts'

const folder = folderOfFile()

const figures = z.object({
  open_ms: z.number().positive(),
  node_megabytes: z.number().positive(),
  node_written_megabytes: z.number(),
  index_megabytes: z.number().positive().nullable(),
  lines: z.array(
    z.object({
      name: z.string(),
      recall_at_10: z.number(),
      latency: z.object({ searches: z.int().positive(), p95_ms: z.number().positive(), cpu_ms: z.number().positive() }),
    }),
  ),
})
const resultSchema = z.object({
  passages: z.literal(1_500),
  local: figures,
  opensearch: figures,
  thresholds: z.array(z.object({ name: z.string(), met: z.boolean() })),
})

const ARGUMENTS = ['--engine', 'opensearch', '--passages', '1500', '--dimensions', '64', '--seconds', '0.05']

test('the bench compares both engines by selectivity, and what a search node needs', async () => {
  const json = join(folder, 'result.json')
  const args = ['test/bench/main.ts', ...ARGUMENTS, '--data-dir', join(folder, 'data'), '--json', json]
  const { code, output } = await runScript(args)
  expect(code, output).toBe(0)
  const { local, opensearch, thresholds } = resultSchema.parse(JSON.parse(readFileSync(json, 'utf8')))
  const filters = ['unfiltered', '22 %', '1.8 %', 'random 0.1 %']
  for (const { lines } of [local, opensearch]) expect(lines.map(({ name }) => name)).toEqual(filters)
  expect(thresholds.map(({ name }) => name)).toEqual(filters.map((name) => `recall@10 of OpenSearch, ${name}`))
  for (const head of ['cluster memory', 'node disk', 'recall@10', 'p95']) expect(output).toContain(head)
})
