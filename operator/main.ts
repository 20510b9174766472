import { runApart } from '#jobs/capture/run-apart.ts'

/** Commands that parse files of others. */
const READING = new Set(['inspect', 'import'])

// A killed parent ends this process; the work that it waits for continues in the job worker.
process.on('disconnect', () => process.exit(1))
// The listener alone would keep the channel, and so this process, open after the work is done.
process.channel?.unref()

const args = process.argv.slice(2)
const run = new URL('./commands/run.ts', import.meta.url)
if (READING.has(args[0] ?? '')) process.exitCode = await runApart(run, args)
else await import(run.href)
