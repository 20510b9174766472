import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { embedText } from '#core/embedding/local/embedder.ts'
import { UsageError, benchFlags } from '../flags.ts'
import { askSets } from '../queries.ts'
import { embeddedCorpus } from './corpus.ts'

const latency = z.object({ searches: z.number(), p50_ms: z.number(), p99_ms: z.number(), cpu_ms: z.number() })
const resultSchema = z.object({
  passages: z.number(),
  rows: z.array(
    z.object({
      filter: z.string(),
      allowed: z.number(),
      lexical: latency,
      dense: latency,
      hybrid: latency,
      plans: z.record(z.string(), z.number()),
    }),
  ),
  thresholds: z.array(z.object({ name: z.string(), met: z.boolean() })),
})

const folder = mkdtempSync(join(tmpdir(), 'evidence-bench-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** As small as possible, because the test does not measure speed. */
async function runBench(): Promise<{ readonly code: number | null; readonly output: string }> {
  const main = fileURLToPath(new URL('../main.ts', import.meta.url))
  const sizes = ['--embedded', '--passages', '2000', '--seconds', '0.02']
  const files = ['--json', join(folder, 'result.json'), '--data-dir', join(folder, 'bench')]
  const child = spawn(process.execPath, [main, ...sizes, ...files])
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  return { code: await new Promise((resolve) => child.once('close', resolve)), output }
}

test('words, vectors and both are measured under each filter, and the plans of the questions are counted', async () => {
  const { code, output } = await runBench()
  const { passages, rows, thresholds } = resultSchema.parse(
    JSON.parse(readFileSync(join(folder, 'result.json'), 'utf8')),
  )
  expect(passages).toBe(2_000)
  expect(rows.map(({ filter }) => filter)).toEqual(['unfiltered', '22 %', '1.8 %'])
  for (const { lexical, dense, hybrid, plans } of rows) {
    expect(Math.min(...[lexical, dense, hybrid].map(({ searches }) => searches))).toBeGreaterThan(0)
    expect(Object.values(plans).reduce((sum, count) => sum + count, 0)).toBe(300)
  }
  const [threshold] = thresholds
  expect(threshold?.name).toBe('hybrid with hashed words at p50, two at a time')
  expect(output).toContain('nearest rows of the questions')
  expect(code).toBe(threshold?.met === true ? 0 : 1)
})

test('passages and questions have the vectors of the local embedder', () => {
  const corpus = embeddedCorpus({ passages: 1_000, seed: 1 })
  for (const passage of [...corpus.rows()].slice(0, 3)) {
    const { heading, text } = passage.record()
    expect(passage.vector()).toEqual(embedText(`${heading}\n${text}`))
  }
  const [asked] = askSets(corpus, 1, [{ count: 5, set: 0 }])
  expect(asked?.queries).toHaveLength(5)
  for (const { text, vector } of asked?.queries ?? []) expect(vector).toEqual(embedText(text))
})

test('options that need other vectors are refused beside --embedded', () => {
  const others = [['--dimensions', '64'], ['--lancedb'], ['--html', 'page.html'], ['--passages', '1000,2000']]
  for (const other of others) expect(() => benchFlags(['--embedded', ...other])).toThrow(UsageError)
  expect(benchFlags(['--embedded']).embedded).toBe(true)
})
