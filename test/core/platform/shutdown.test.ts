import { fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { folderOfTest } from '#test/support/folder.ts'

const moduleUrl = (name: string): string => JSON.stringify(import.meta.resolve(`#core/platform/${name}.ts`))

test('a service whose parent ended while it started stops', async () => {
  const script = join(folderOfTest(), 'service.mjs')
  writeFileSync(
    script,
    `import { createLog } from ${moduleUrl('log')}
    import { stopOnSignal } from ${moduleUrl('shutdown')}
    const running = setInterval(() => {
      if (process.connected) return
      clearInterval(running)
      stopOnSignal(createLog('test', 'silent'), 10_000, async () => undefined)
      setInterval(() => undefined, 1_000)
    }, 10)
    process.send('begun')`,
  )
  const child = fork(script)
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'message')
  child.disconnect()
  expect(await once(child, 'exit')).toEqual([0, null])
})
