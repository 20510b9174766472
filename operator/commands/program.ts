import type { Command } from 'commander'
import { z } from 'zod'
import { COMMIT, RELEASE } from '#core/platform/release.ts'
import { failureOf } from '../command-line/failure.ts'
import { OperatorCommand, addCommands, type Commands, type Console } from '../command-line/command.ts'
import { offline } from '../command-line/verbs.ts'
import FIRST_STEPS from './first-steps.json' with { type: 'json' }

/** Files of the commands by their first words, in the order of the help. A command loads nothing of the others. */
const FILES: readonly (readonly [names: readonly string[], load: () => Promise<{ readonly commands: Commands }>])[] = [
  [['status'], () => import('./status.ts')],
  [['doctor'], () => import('./doctor.ts')],
  [['migrate'], () => import('./migrate.ts')],
  [['models'], () => import('./models.ts')],
  [['organizations', 'clients'], () => import('./organizations.ts')],
  [['plans'], () => import('./plans.ts')],
  [['knowledge-bases'], () => import('./knowledge-bases.ts')],
  [['entitlements'], () => import('./entitlements.ts')],
  [['keys'], () => import('./keys.ts')],
  [['inspect'], () => import('./inspect.ts')],
  [['import', 'imports'], () => import('./imports.ts')],
  [['sources', 'capture'], () => import('./sources.ts')],
  [['build'], () => import('./build.ts')],
  [['reviewers'], () => import('./reviewers.ts')],
  [['review'], () => import('./review.ts')],
  [['activate', 'rollback'], () => import('./activate.ts')],
  [['documents'], () => import('./documents.ts')],
  [['versions'], () => import('./versions.ts')],
  [['withdraw', 'withdrawals'], () => import('./withdrawals.ts')],
  [['gc'], () => import('./gc.ts')],
  [['jobs'], () => import('./jobs.ts')],
  [['usage'], () => import('./usage.ts')],
  [['requests'], () => import('./requests.ts')],
  [['replay'], () => import('./replay.ts')],
  [['explain', 'ask'], () => import('./explain.ts')],
  [['exposure'], () => import('./exposure.ts')],
  [['fingerprints'], () => import('./fingerprints.ts')],
  [['audit'], () => import('./audit.ts')],
  [['backup', 'restore'], () => import('./backup.ts')],
  [['completion'], () => Promise.resolve({ commands: completion })],
]

const completion: Commands = [
  offline('completion [word]', 'print completion for bash of the word that runs this command line', {
    notes:
      'For an alias "op" of "npm run --silent operator --". zsh reads it after "autoload bashcompinit && bashcompinit".',
    input: {
      word: z
        .string()
        .regex(/^[\w.-]+$/, 'must be a word of letters, digits, ".", "_" and "-"')
        .default('op'),
    },
    async run({ word }) {
      const program = await createProgram({ environment: {}, stdout: process.stdout, stderr: process.stderr })
      const script = completionOf(program, word)
      return [script, script]
    },
  }),
]

/** A case for what stands before the word: the commands and flags there, those of longer names first. */
function casesOf({ commands, options }: Command, before: readonly string[]): readonly string[] {
  const at = before.join(' ')
  const words = [...commands.map((each) => each.name()), ...options.map(({ long }) => long ?? '')]
  return [
    ...commands.flatMap((each) => casesOf(each, [...before, each.name()])),
    `    '${at}' | '${at} '*) words='${words.join(' ')}' ;;`,
  ]
}

function completionOf(program: Command, word: string): string {
  const name = `_${word.replaceAll(/\W/g, '_')}_words`
  return `${name}() {
  local words=''
  case "\${COMP_WORDS[*]:1:COMP_CWORD-1}" in
${casesOf(program, []).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F ${name} ${word}`
}

/** Runs a command line. @returns its exit code; what went wrong is one sentence on standard error. */
export async function runProgram(args: readonly string[], console: Console): Promise<number> {
  try {
    const program = await createProgram(console, args[0])
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    const { exitCode, sentence } = failureOf(error)
    if (sentence !== undefined) console.stderr.write(`${sentence}\n`)
    return exitCode
  }
}

/**
 * Creates a command line, which throws instead of exiting.
 * @param name of the only command that is wanted; absent or unknown: it has all of them.
 */
export async function createProgram(console: Console, name?: string): Promise<OperatorCommand> {
  const program = new OperatorCommand('operator', console)
    .description('Operate the evidence retrieval service.')
    .version(`${RELEASE} ${COMMIT}`.trimEnd())
    .exitOverride()
    // Options after the name of a command belong to it: "import draft FILE --json" is an option of "draft".
    .enablePositionalOptions()
    .showHelpAfterError('(add --help to see how)')
    .addHelpText('after', ['', ...FIRST_STEPS].join('\n'))
  const only = FILES.filter(([names]) => names.includes(name ?? ''))
  for (const [, load] of only.length === 0 ? FILES : only) addCommands(program, (await load()).commands)
  return program
}
