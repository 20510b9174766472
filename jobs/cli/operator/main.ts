import { failureOf } from './failure.ts'
import { createProgram } from './program.ts'

// A reader that has seen enough, like `head`, closes the pipe: what was asked for is done, so the command ends as if it
// had been read.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })

// The process that started this one may be killed; what it waits for goes on without it.
process.on('disconnect', () => process.exit(1))
// The listener alone would keep the channel, and with it this process, open after the work is done.
process.channel?.unref()

try {
  await createProgram().parseAsync()
} catch (error) {
  const { exitCode, sentence } = failureOf(error)
  process.exitCode = exitCode
  // A command that failed has nothing to wait for, not even a peer that keeps a broken connection open.
  process.stderr.write(sentence === undefined ? '' : `${sentence}\n`, () => {
    if (exitCode !== 0) process.exit(exitCode)
  })
}
