import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { runScript } from '#test/support/processes.ts'
import { writeTinyModel } from '#test/support/tiny-model.ts'
import { folderOfTest } from '#test/support/folder.ts'

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
})

test('measures an encoder alone and beside a build', async () => {
  const model = writeTinyModel()
  const json = join(folderOfTest(), 'result.json')
  const args = ['--model', model, '--seconds', '0.5', '--json', json]
  expect(await runScript(['test/bench/main.ts', ...args])).toMatchObject({ code: 0 })
  const { encoder } = resultSchema.parse(JSON.parse(readFileSync(json, 'utf8')))
  expect(encoder.megabytes_peak).toBeGreaterThanOrEqual(encoder.megabytes_after_start)
})
