import { Command } from 'commander'
import { z } from 'zod'
import SHOWN from './examples.json' with { type: 'json' }
import { UsageError } from './failure.ts'
import { flagOf } from './inputs.ts'
import { createProgress } from './progress.ts'

/** Invocation of a command. `npm run` needs the dashes; `--silent` keeps npm's banner off standard output. */
const INVOCATION = 'npm run operator --'

/** Arguments after it, by the words of a command. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = SHOWN

/** What a command reads and writes besides its arguments. */
export interface Console {
  readonly environment: NodeJS.ProcessEnv
  /** Takes results only. */
  readonly stdout: NodeJS.WritableStream
  /** Takes progress and sentences for people. */
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean | undefined }
}

/** A command whose subcommands share its console. */
export class OperatorCommand extends Command {
  readonly console: Console

  constructor(name: string | undefined, console: Console) {
    super(name)
    this.console = console
    this.configureOutput({
      writeOut: (text) => void console.stdout.write(text),
      writeErr: (text) => void console.stderr.write(text),
    })
  }

  override createCommand(name?: string): OperatorCommand {
    return new OperatorCommand(name, this.console)
  }
}

/** A value as `--json` prints it, and its text for people; undefined where they are told otherwise. */
export type Shown = readonly [value: unknown, text: string | (() => string) | undefined]

export type Output = ReturnType<typeof createOutput>

export interface Help {
  /** What a user must know before the first use. */
  readonly notes?: string
  /** Verbs that follow the name of this one. */
  readonly below?: readonly Verb[]
}

export interface Verb extends Help {
  /** Name and positional arguments, e.g. `create <name>`. */
  readonly usage: string
  readonly summary: string
  readonly input: z.ZodRawShape
  /** Names of what it reads from the environment. */
  readonly variables: readonly string[]
  /** The verb changes something and takes `--actor`. */
  readonly writes?: true
  readonly run: (command: OperatorCommand, output: Output) => Promise<Shown | undefined>
}

export interface Group {
  readonly name: string
  readonly summary: string
  readonly verbs: readonly Verb[]
}

export type Input<S extends z.ZodRawShape> = z.output<z.ZodObject<S>>

/** What a noun adds to the command line. */
export type Commands = readonly (Group | Verb)[]

export function addCommands(parent: OperatorCommand, commands: Commands): void {
  for (const each of commands)
    if ('verbs' in each) addCommands(parent.command(each.name).description(each.summary), each.verbs)
    else addVerb(parent, each)
}

function addVerb(parent: OperatorCommand, { usage, summary, input, writes, below = [], run, ...help }: Verb): void {
  const command = parent.command(usage).description(summary)
  for (const [key, schema] of Object.entries(input)) {
    const { flag, help: about = '' } = flagOf(key, schema) ?? {}
    if (flag !== undefined) command.option(flag, z.safeParse(schema, undefined).success ? about : `${about} (required)`)
  }
  command.option('--json', 'print the result as JSON on standard output, and nothing else there')
  if (writes === true) command.option('--actor <name>', 'who acts, for the audit trail; default: OPERATOR_ACTOR')
  command.addHelpText('after', helpAfter(EXAMPLES[pathOf(command)] ?? [], help))
  command.action(async () => {
    const output = createOutput(command)
    try {
      const shown = await run(command, output)
      if (shown !== undefined) output.show(...shown)
    } finally {
      output.progress.end()
    }
  })
  // Options after the name of a verb below belong to that verb.
  if (below.length > 0) addCommands(command.enablePositionalOptions(), below)
}

function createOutput(command: OperatorCommand) {
  const { stdout, stderr } = command.console
  const { json } = z.object({ json: z.boolean().default(false) }).parse(command.opts())
  const progress = createProgress(stderr)
  return {
    progress,
    /** Writes a sentence for people to standard error, before the result. */
    note: (sentence: string): void => {
      progress.end()
      stderr.write(`${sentence}\n`)
    },
    /** Writes a result before the end of a verb that may still fail. */
    show: (...[value, words]: Shown): void => {
      progress.end()
      const written = json ? JSON.stringify(value, null, 2) : typeof words === 'function' ? words() : words
      if (written !== undefined) stdout.write(`${written}\n`)
    },
    /** Writes bytes to standard output as they are, also with `--json`. */
    write: async (bytes: Uint8Array): Promise<void> => {
      progress.end()
      await new Promise<void>((resolve, reject) =>
        stdout.write(bytes, (error) => (error === undefined || error === null ? resolve() : reject(error))),
      )
    },
  }
}

function helpAfter(examples: readonly string[], { notes, variables }: Pick<Verb, 'notes' | 'variables'>): string {
  const parts = [`Examples:\n${examples.map((example) => `  ${INVOCATION} ${example}`).join('\n')}`]
  if (notes !== undefined) parts.unshift(notes)
  parts.push(`Environment: ${variables.length === 0 ? 'none' : variables.join(', ')}`)
  return `\n${parts.join('\n\n')}`
}

export function parseInput<S extends z.ZodRawShape>(command: OperatorCommand, shape: S | undefined): Input<S> {
  const positional: readonly (readonly [string, unknown])[] = command.registeredArguments.map((argument, index) => [
    argument.name(),
    command.processedArgs[index],
  ])
  const parsed = z.object(shape).safeParse({ ...command.opts(), ...Object.fromEntries(positional) })
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map(
    (issue) =>
      `${labelOf(command, String(issue.path[0] ?? ''))} ` +
      (issue.code === 'invalid_type' && issue.input === undefined ? 'is missing' : issue.message),
  )
  throw new UsageError(`${[...new Set(faults)].join('; ')}: see "${INVOCATION} ${pathOf(command)} --help".`)
}

function labelOf(command: Command, field: string): string {
  const option = command.options.find((candidate) => candidate.attributeName() === field)
  return option?.long ?? `<${field}>`
}

function pathOf(command: Command): string {
  const above = command.parent
  return above === null || above.parent === null ? command.name() : `${pathOf(above)} ${command.name()}`
}
