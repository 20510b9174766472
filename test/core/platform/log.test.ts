import { spawn } from 'node:child_process'
import { expect, test, vi } from 'vitest'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { createLog } from '#core/platform/log.ts'
import { assertNode } from '#core/platform/start.ts'
import { z } from 'zod'

test('an event with the same cause is a line a second with its count; others and those without a cause are all there', () => {
  vi.useFakeTimers()
  const lines: unknown[] = []
  const log = createLog('test', 'info', (line) => lines.push(JSON.parse(line)))
  const fault = new Error('away')
  for (let n = 0; n < 1_000; n++) log.warn('request', { request_id: `r${n}` }, fault)
  log.warn('request', { request_id: 'other' }, new Error('another'))
  for (let n = 0; n < 3; n++) log.info('request', { request_id: `i${n}` })
  expect(lines).toMatchObject([
    { request_id: 'r0' },
    { request_id: 'other' },
    ...['i0', 'i1', 'i2'].map((request_id) => ({ request_id })),
  ])
  lines.length = 0
  vi.advanceTimersByTime(PLATFORM_BOUNDS.logRepetitionMs)
  expect(lines).toMatchObject([{ event: 'request', repeated: 999, cause: 'Error: away' }])
  log.warn('request', {}, fault)
  vi.advanceTimersByTime(PLATFORM_BOUNDS.logRepetitionMs)
  expect(lines).toMatchObject([{ repeated: 999 }, { repeated: 1 }])
  vi.advanceTimersByTime(PLATFORM_BOUNDS.logRepetitionMs)
  log.warn('request', { request_id: 'last' }, fault)
  expect(lines.slice(2)).toMatchObject([{ request_id: 'last' }])
  vi.useRealTimers()
})

/** Logs 16 MB, and says on standard error how much of it waits. */
const WRITER = `
  import { createLog } from '#core/platform/log.ts'
  const log = createLog('test', 'info')
  for (let n = 0; n < 16_384; n++) {
    log.info('line', { text: 'x'.repeat(1_000) })
    if (n % 256 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  process.stderr.write(String(process.stdout.writableLength))
  setInterval(() => log.info('later'), 20)
  process.stdin.once('data', () => setTimeout(() => process.exit(0), 1_000))`

function startWriter() {
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', WRITER], {
    cwd: new URL('../../../', import.meta.url),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const waiting = new Promise<number>((resolve) => child.stderr.once('data', (text) => resolve(Number(text))))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return { child, waiting, ended }
}

test('a reader of the log that goes away ends no process', async () => {
  const { child, ended } = startWriter()
  child.stdout.destroy()
  child.stderr.once('data', () => child.stdin.write('end'))
  expect(await ended).toBe(0)
})

test('a reader that stalls costs lines, which are counted, and no memory', async () => {
  const { child, waiting, ended } = startWriter()
  expect(await waiting).toBeLessThan(2 * PLATFORM_BOUNDS.logBufferBytesMax)
  let read = ''
  child.stdout.on('data', (chunk: Buffer) => (read += chunk.toString()))
  child.stdin.write('end')
  expect(await ended).toBe(0)
  const { dropped } = z
    .object({ dropped: z.int() })
    .parse(JSON.parse(read.split('\n').find((line) => line.includes('log lines dropped')) ?? '{}'))
  expect(dropped).toBeGreaterThan(1_000)
})

test('a Node that corrupts its memory is refused with the sentence that names the one to take', () => {
  for (const version of ['20.11.0', '24.20.1']) expect(() => assertNode(version)).toThrow('run this with Node 24.21')
  for (const version of ['24.21.0', '25.0.0', process.versions.node]) assertNode(version)
})
