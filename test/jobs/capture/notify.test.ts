import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createLog } from '#core/platform/log.ts'
import { notify } from '#jobs/capture/schedule.ts'
import { jobsConfig } from '#jobs/platform/config.ts'
import { CALL_TIMEOUT_MS } from '#test/support/until.ts'
import { folderOfFile } from '#test/support/folder.ts'

const EVENT = { event: 'candidate', knowledge_base: 'bees; touch /tmp/never' }
const folder = folderOfFile()
const logged: string[] = []
const log = createLog('test', 'warn', (line) => logged.push(line))

test('a command is told on standard input, with its fixed arguments and no variable of the worker', async () => {
  const out = join(folder, 'told')
  const program = `const { readFileSync, writeFileSync } = require('node:fs')
writeFileSync(process.argv[1], JSON.stringify([JSON.parse(readFileSync(0)), process.argv.slice(2), Object.keys(process.env)]))`
  await notify({ command: [process.execPath, '-e', program, out, '$HOME;x'] }, EVENT, log)
  expect(logged).toEqual([])
  expect(JSON.parse(await readFile(out, 'utf8'))).toEqual([EVENT, ['$HOME;x'], ['PATH']])
})

test.each([
  ['ends with a fault', [process.execPath, '-e', 'process.exit(3)'], '"code":3', CALL_TIMEOUT_MS],
  ['does not end', [process.execPath, '-e', 'setInterval(() => {}, 1000)'], '"signal":"SIGKILL"', 1_000],
  ['does not exist', ['/does/not/exist'], 'ENOENT', CALL_TIMEOUT_MS],
])('a command that %s is logged, and the capture goes on', async (_name, command, why, timeoutMs) => {
  logged.length = 0
  await notify({ command, timeoutMs }, EVENT, log)
  expect(logged).toEqual([expect.stringContaining(why)])
})

test('a command that is no JSON list with an absolute path is refused at the start', () => {
  for (const command of ['notify.sh', '["notify.sh"]', '[]', '{"a":1}', '["/bin/x", 1]'])
    expect(() => jobsConfig({ CAPTURE_COMMAND: command })).toThrow(/CAPTURE_COMMAND/)
  expect(() => jobsConfig({ CAPTURE_COMMAND: '["/bin/true","x"]' })).not.toThrow(/CAPTURE_COMMAND/)
})
