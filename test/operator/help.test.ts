import { execFileSync, fork } from 'node:child_process'
import { createServer, type Socket } from 'node:net'
import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { ConfigError } from '#core/platform/config.ts'
import { createProgram } from '#operator/commands/program.ts'
import { MAIN, commandLine, wordsOf } from '#test/support/operator-cli.ts'
import { adjustedNowMs } from '#test/support/clock.ts'

function leaves(
  command: Command,
  path: readonly string[] = [],
): { readonly path: string; readonly command: Command }[] {
  return command.commands.flatMap((child) => {
    const below = [...path, child.name()]
    // A group takes no options; a command may have others below it.
    const own =
      child.commands.length === 0 || child.options.length > 0 ? [{ path: below.join(' '), command: child }] : []
    return [...own, ...leaves(child, below)]
  })
}

function helpOf(command: Command): string {
  let shown = ''
  command.configureOutput({ writeOut: (text) => (shown += text) })
  command.outputHelp()
  return shown
}

const CONSOLE = { environment: {}, stdout: process.stdout, stderr: process.stderr }

/** Commands without the service: a reviewer or an editor runs them elsewhere. */
const OFFLINE = new Set([
  'inspect',
  'import draft',
  'import init',
  'models fetch',
  'models list',
  'reviewers keygen',
  'backup key',
  'completion',
])
const WHOLE = await createProgram(CONSOLE)
const VERBS = leaves(WHOLE)

describe('help', () => {
  test.each(WHOLE.commands.map((command) => command.name()))('%s is read without the other commands', async (name) => {
    const { commands } = await createProgram(CONSOLE, name)
    expect(commands.map((command) => command.name())).toContain(name)
    expect(commands.length).toBeLessThan(4)
  })

  test('every verb that the operator needs is there', () => {
    const verbs: Readonly<Record<string, string>> = {
      organizations: 'create list suspend resume',
      clients: 'create list suspend resume',
      plans: 'create list show',
      'knowledge-bases': 'create list policy trace',
      entitlements: 'grant list show change deactivate activate add-profile remove-profile',
      keys: 'issue list rotate revoke',
      fingerprints: 'rotate rewrap erase list',
      exposure: 'show raise release',
      requests: 'show list refused',
      documents: 'list',
      import: 'init draft',
      imports: 'list show',
      versions: 'history list show',
      build: 'start cancel retry show list',
      reviewers: 'keygen add retire list',
      review: 'show report sign statement',
      withdrawals: 'list restore',
      models: 'list fetch',
      jobs: 'list show retry',
      sources: 'add list show remove',
      usage: 'report',
      audit: 'list head verify',
      backup: 'key',
      restore: 'run accept',
    }
    const alone = wordsOf(
      'status doctor migrate explain ask inspect gc withdraw import activate rollback replay capture backup completion',
    )
    const below = Object.entries(verbs).flatMap(([noun, names]) => wordsOf(names).map((name) => `${noun} ${name}`))
    expect(VERBS.map(({ path }) => path).sort()).toEqual([...alone, ...below].sort())
  })

  test.each(VERBS)(
    '"$path --help" shows an example that can be typed, --json and the environment',
    ({ path, command }) => {
      const help = helpOf(command)
      expect(help).toContain(`npm run operator -- ${path}`)
      expect(help).toContain('--json')
      expect(help).toMatch(OFFLINE.has(path) ? /Environment: none/ : /Environment: DATABASE_URL/)
      expect(command.description()).toMatch(/\w+ \w+/)
    },
  )

  test.each(VERBS.filter(({ path }) => !OFFLINE.has(path)))(
    'each example of "$path" gets past its input to the missing configuration',
    async ({ command }) => {
      const examples = [...helpOf(command).matchAll(/^ {2}npm run operator -- (.+)$/gm)].map((match) => match[1] ?? '')
      expect(examples.length).toBeGreaterThan(0)
      for (const example of examples) {
        const running = (await createProgram(CONSOLE)).parseAsync(wordsOf(example), { from: 'user' })
        await expect(running, example).rejects.toThrow(ConfigError)
      }
    },
  )

  test('bash completes commands and flags by what stands before the word', async () => {
    const { stdout: script } = await commandLine({}).run('completion', 'op')
    const completed = (...words: readonly string[]): readonly string[] => {
      const line = ['op', ...words].map((word) => `'${word}'`).join(' ')
      const asked = `${script}\nCOMP_WORDS=(${line}); COMP_CWORD=${words.length}; _op_words; echo "\${COMPREPLY[*]}"`
      return execFileSync('bash', ['-c', asked], { encoding: 'utf8' }).trim().split(' ')
    }
    expect(completed('know')).toEqual(['knowledge-bases'])
    expect(completed('keys', '')).toEqual(['issue', 'list', 'rotate', 'revoke'])
    expect(completed('import', '--source', 'x', '--know')).toEqual(['--knowledge-base'])
    expect(completed('keys', 'issue', '--cl')).toEqual(['--client'])
    expect(completed('keys', 'issue', '--client', 'x', '--env')).toEqual(['--environment'])
  })

  test('required options are marked so', async () => {
    const { stdout } = await commandLine({}).run('keys issue --help')
    expect(stdout).toMatch(/--client <client>\s+[^-]*\(required\)/)
  })

  test('plans create --help lists every limit with its default', async () => {
    const { stdout: help } = await commandLine({}).run('plans create --help')
    for (const line of [/max_top_k:\s+5/, /requests_per_month:\s+5000/, /window_days:\s+30/, /corpus:\s+300/])
      expect(help).toMatch(line)
  })
})

const AWAY = 'Postgres does not answer: check that it runs and that DATABASE_URL names its host, port and database.\n'

describe('exit codes and streams', () => {
  const cli = commandLine({})

  test('help ends with 0 on standard output and walks from an empty database to a key', async () => {
    const { code, stdout, stderr } = await cli.run('--help')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/migrate[\s\S]*import[\s\S]*build start[\s\S]*review sign[\s\S]*activate[\s\S]*keys issue/)
  })

  test('the version is that of the release', async () => {
    expect((await cli.run('--version')).stdout).toMatch(/^\d+\.\d+\.\d+( [0-9a-f]{40})?\n$/)
  })

  test.each([
    ['an unknown command', 'keys isue', /unknown command 'isue'[\s\S]*issue/],
    ['a group without a verb', 'keys', /Usage: operator keys/],
    ['an unknown option', 'keys list --all', /unknown option '--all'/],
    ['a missing argument', 'keys revoke', /missing required argument 'key'/],
    [
      'values that do not fit, all at once',
      'keys issue --environment prod --expires-in-days 731',
      new RegExp(
        '^--client is missing; --environment must be test or live; --expires-in-days must be a whole number ' +
          'from 1 to 730: see "npm run operator -- keys issue --help"\\.$',
        'm',
      ),
    ],
    ['a day that does not exist', 'audit list --from 2026-02-30', /--from must be a day like/],
    ['a day before the first', 'knowledge-bases create x --title T --as-of 0000-01-01', /--as-of must be a later day/],
    ['a list of nothing', 'keys issue --client C --environment test --scopes ,', /^--scopes must not be empty: see/m],
    ['an actor without a name', 'keys revoke K --actor " "', /^--actor must not be empty: see/m],
  ])('%s ends with 2 and leaves standard output empty', async (_what, args, sentence) => {
    const { code, stdout, stderr } = await cli.run(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(sentence)
  })

  test('started with a channel to its parent, as npm run starts it, it still ends by itself', async () => {
    const child = fork(MAIN, ['--help'], { silent: true })
    child.stdout?.resume()
    expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(0)
  })

  test('a reader that closes the pipe early, like head, is no failure and prints no stack', async () => {
    const child = fork(MAIN, ['--help'], { silent: true })
    let stderr = ''
    child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')))
    child.stdout?.destroy()
    expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0)
    expect(stderr).toBe('')
  })

  test('a missing variable ends with 1 and names it without any value', async () => {
    const wrong = commandLine({ DATABASE_URL: 'mysql://root:hunter2@example.invalid/x' })
    const stderr = await wrong.refused('keys list --json')
    expect(stderr).toMatch(/DATABASE_URL is not valid/)
    expect(stderr).not.toContain('hunter2')
  })

  test('a database that is away ends with 1 and says what to check', async () => {
    const away = commandLine({ DATABASE_URL: 'postgres://nobody:secret@127.0.0.1:1/none' })
    expect(await away.refused('keys list')).toBe(AWAY)
  })

  test.each<[string, (socket: Socket) => void]>([
    ['ends every connection', (socket) => void socket.once('data', () => socket.end())],
    ['speaks as something else', (socket) => void socket.write(Buffer.from('4a0000000a382e302e333200', 'hex'))],
    ['never says anything', () => undefined],
  ])('a port that %s counts as a database that is away, within seconds', async (_what, answer) => {
    const sockets = new Set<Socket>()
    const server = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined))
      answer(socket)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      const wrong = commandLine({ DATABASE_URL: `postgres://nobody:secret@127.0.0.1:${port}/none` })
      const beganMs = adjustedNowMs()
      for (const { code, stderr } of await Promise.all([
        wrong.start('keys list').ended,
        wrong.start('migrate').ended,
      ])) {
        expect(code).toBe(1)
        expect(stderr.endsWith(AWAY), stderr).toBe(true)
        expect(stderr).not.toMatch(/secret|foreseen/)
      }
      expect(adjustedNowMs() - beganMs).toBeLessThan(30_000)
    } finally {
      for (const socket of sockets) socket.destroy()
      server.close()
    }
  })
})
