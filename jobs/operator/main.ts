import { failureOf } from './failure.ts'
import { createProgram } from './program.ts'

// The process that started this one may be killed; what it waits for goes on without it.
process.on('disconnect', () => process.exit(1))
// The listener alone would keep the channel, and with it this process, open after the work is done.
process.channel?.unref()

try {
  await createProgram().parseAsync()
} catch (error) {
  const { exitCode, sentence } = failureOf(error)
  if (sentence !== undefined) process.stderr.write(`${sentence}\n`)
  process.exitCode = exitCode
}
