import { ownEnvironment } from '#jobs/platform/config.ts'
import { runProgram } from './program.ts'

const { stdout, stderr } = process

// A reader like `head` may close the pipe early. The command's work is done, so it ends as if the output had been read.
for (const stream of [stdout, stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })

// As in `operator/main.ts`, which may run this file in a process of its own.
process.on('disconnect', () => process.exit(1))
process.channel?.unref()

const exitCode = await runProgram(process.argv.slice(2), { environment: ownEnvironment(), stdout, stderr })
process.exitCode = exitCode
// A failed command exits at once, without waiting for a peer that keeps a broken connection open.
if (exitCode !== 0) stderr.write('', () => process.exit(exitCode))
