import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { startOwnEncoder } from '#operator/command-line/own-encoder.ts'
import { runScript } from '#test/support/processes.ts'
import { writeTinyModel } from '#test/support/tiny-model.ts'

const positive = z.number().positive()
const questions = z.object({ asked: positive, p50_ms: positive, p95_ms: positive })
const measured = z.object({
  alone: questions,
  beside_a_build: questions,
  tokens_per_second: positive,
  passages_per_second: positive,
})
const resultSchema = z.object({
  start_seconds: positive,
  encoder: measured.extend({ megabytes_after_start: positive, megabytes_peak: positive }),
  compared: measured.extend({ least_cosine: z.number() }),
})

test('measures an encoder by turns with another endpoint of its model, whose vectors agree', async () => {
  const model = writeTinyModel()
  const folder = mkdtempSync(join(tmpdir(), 'evidence-bench-encoder-'))
  const other = await startOwnEncoder({ model })
  try {
    const json = join(folder, 'result.json')
    const args = ['--model', model, '--compare', other.baseUrl, '--seconds', '0.5', '--json', json]
    expect(await runScript(['test/bench/main.ts', ...args])).toMatchObject({ code: 0 })
    const { encoder, compared } = resultSchema.parse(JSON.parse(readFileSync(json, 'utf8')))
    expect(encoder.megabytes_peak).toBeGreaterThanOrEqual(encoder.megabytes_after_start)
    expect(compared.least_cosine).toBeCloseTo(1, 5)
  } finally {
    await other.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})
