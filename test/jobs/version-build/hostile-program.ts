import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { setInterval } from 'node:timers'
import { Worker } from 'node:worker_threads'

/** What code that a hostile file took over would try: `hostile-program.ts look|grow|hang|cpu <folder>`. */
const [what = '', folder = ''] = process.argv.slice(2)

function faultOf(work: () => unknown): string {
  try {
    work()
    return 'done'
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  }
}

process.once('message', () => {
  const kept: Buffer[] = []
  if (what === 'grow') {
    setInterval(() => kept.push(Buffer.alloc(16 * 1_048_576, 1)), 5)
    return
  }
  if (what === 'hang') for (;;) continue
  const own = Object.keys(process.env)
  const tried = [
    () => readFileSync('/etc/passwd'),
    () => readFileSync(`/proc/${process.ppid}/environ`),
    () => writeFileSync(new URL('./left.txt', import.meta.url), ''),
    () => spawnSync('true'),
    () => new Worker('', { eval: true }),
    () => writeFileSync(`${folder}/kept.txt`, ''),
    () => readdirSync(folder),
    () => readFileSync('/etc/hosts'),
    () => readFileSync('/etc/hostname'),
    () => readFileSync('/etc/host.conf'),
  ].map(faultOf)
  const [, cpu] = what === 'cpu' ? (/^Max cpu time +(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []) : []
  if (what === 'look' || what === 'cpu')
    process.send?.({ outcome: 'looked', own, tried, cpu }, () => process.disconnect())
})
