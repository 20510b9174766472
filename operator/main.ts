import { isApart, runApart } from '#jobs/capture/run-apart.ts'
import { ownEnvironment } from '#jobs/platform/config.ts'
import { runProgram } from './commands/program.ts'

const { stdout, stderr } = process

// A reader like `head` may close the pipe early. The command's work is done, so it ends as if the output had been read.
for (const stream of [stdout, stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })

// A killed parent ends this process; the work that it waits for continues in the job worker.
process.on('disconnect', () => process.exit(1))
// The listener alone would keep the channel, and so this process, open after the work is done.
process.channel?.unref()

const args = process.argv.slice(2)
/** They parse files of others. */
const isReading = ['inspect', 'import', 'capture'].includes(args[0] ?? '')
const exitCode =
  isReading && !isApart
    ? await runApart(new URL(import.meta.url), args)
    : await runProgram(args, { environment: ownEnvironment(), stdout, stderr })
process.exitCode = exitCode
// A failed command exits at once, without waiting for a peer that keeps a broken connection open.
if (exitCode !== 0) stderr.write('', () => process.exit(exitCode))
