import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { folderOfTest } from '#test/support/folder.ts'
import { runScript } from '#test/support/processes.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
/** The gateway computes for 30 ms before each request. */
const BUSY = `
import { Server } from 'node:http'
const { emit } = Server.prototype
Server.prototype.emit = function (...event) {
  if (event[0] === 'request') for (const until = performance.now() + 30; performance.now() < until;);
  return emit.apply(this, event)
}
`

const ratio = z.object({ name: z.string(), ratio: z.number().nullable(), low: z.number().nullable() })
const resultSchema = z.object({
  trees: z.object({ commit: z.string(), present: z.string() }),
  same_questions: z.literal(true),
  ratios: z.array(ratio),
})

function git(args: readonly string[], folder: string, input = ''): string {
  const env = { ...process.env, GIT_INDEX_FILE: join(folder, 'index') }
  return execFileSync('git', args, { cwd: ROOT, env, input, encoding: 'utf8' }).trim()
}

/** The newest commit with a busy gateway. */
function commitWithBusyGateway(folder: string): string {
  git(['read-tree', 'HEAD'], folder)
  const file = git(['hash-object', '-w', '--stdin'], folder, readFileSync(join(ROOT, 'gateway/main.ts'), 'utf8') + BUSY)
  git(['update-index', '--cacheinfo', `100644,${file},gateway/main.ts`], folder)
  const identity = ['-c', 'user.name=test', '-c', 'user.email=test@localhost']
  return git([...identity, 'commit-tree', git(['write-tree'], folder), '-m', 'A busy gateway'], folder)
}

/** Command lines of the processes that name a folder. */
function processesOf(folder: string): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
      } catch {
        return []
      }
    })
    .filter((command) => command.includes(folder))
}

test('a tree with a busy gateway is slower than this one, and nothing is left of both', async () => {
  const folder = folderOfTest()
  const [json, temporary] = [join(folder, 'result.json'), join(folder, 'tmp')]
  mkdirSync(temporary)
  const commit = commitWithBusyGateway(folder)
  const size = ['--passages', '1000', '--dimensions', '16', '--seconds', '0.2', '--rounds', '3']
  const args = ['test/bench/main.ts', '--against', commit, ...size, '--json', json]
  const { code, output } = await runScript(args, { TMPDIR: temporary })
  expect(code, output).toBe(0)
  const { trees, ratios } = resultSchema.parse(JSON.parse(readFileSync(json, 'utf8')))
  expect(trees.commit).toBe(commit)
  const of = (name: string): number => ratios.find((one) => one.name === name)?.ratio ?? NaN
  expect(of('CPU ms a request: gateway')).toBeLessThan(0.8)
  expect(of('full path, 1 client, p50 ms')).toBeLessThan(0.8)
  expect(of('full path, 32 clients, a second')).toBeGreaterThan(1.2)
  for (const { name } of ratios) expect(output).toContain(name)
  expect(readdirSync(temporary)).toEqual([])
  expect(git(['worktree', 'list'], folder)).not.toContain(temporary)
  expect(processesOf(temporary)).toEqual([])
})
