import type { Command } from 'commander'
import type { Console, OperatorCommand } from './operator-command.ts'
import { z } from 'zod'
import type { Variables } from '#core/platform/config.ts'
import { UsageError } from './failure.ts'
import { createProgress } from '#operator/command-line/progress.ts'
import type { Progress } from '#operator/command-line/progress.ts'

/** Invocation of a command. `npm run` needs the dashes; `--silent` keeps npm's banner off standard output. */
const INVOCATION = 'npm run operator --'

/** Definition of a command: its help and the schema of its input. */
export interface Definition<S extends z.ZodRawShape> {
  /** Name and positional arguments, e.g. `create <name>`. */
  readonly usage: string
  readonly summary: string
  /** Help text by flag, e.g. `--plan <plan>`. */
  readonly flags?: Readonly<Record<string, string>>
  /** Arguments after `npm run operator --`. */
  readonly examples: readonly string[]
  /** What a user must know before the first use. */
  readonly notes?: string
  /** Schema by option or argument, in camel case; the help marks required inputs. */
  readonly input: S
}

/** Outputs of every command. */
export interface Output {
  /** Writes to standard output: the value as JSON, or its text for people; undefined where they are told otherwise. */
  readonly show: (value: unknown, text: () => string | undefined) => void
  /** Writes a sentence for people to standard error, before the result. */
  readonly note: (text: string) => void
  /** Writes bytes to standard output as they are, also with `--json`. */
  readonly write: (bytes: Uint8Array) => Promise<void>
  readonly progress: Progress
}

const commonSchema = z.object({ json: z.boolean().default(false) })

export function addCommandGroup(program: OperatorCommand, name: string, summary: string): OperatorCommand {
  return program.command(name).description(summary)
}

/** Adds a command whose input is parsed before `run`; invalid input is a usage error. */
export function addCommand<S extends z.ZodRawShape>(
  parent: OperatorCommand,
  definition: Definition<S>,
  variables: Variables,
  run: (input: z.output<z.ZodObject<S>>, output: Output) => Promise<void>,
): OperatorCommand {
  const { input: shape, flags = {}, notes, examples } = definition
  const schema = z.object(shape)
  const command = parent.command(definition.usage).description(definition.summary)
  for (const [flag, help] of Object.entries(flags)) {
    const option = command.createOption(flag, help)
    const field = shape[option.attributeName()]
    command.addOption(option)
    if (field !== undefined && !z.safeParse(field, undefined).success) option.description = `${help} (required)`
  }
  command.option('--json', 'print the result as JSON on standard output, and nothing else there')
  command.addHelpText('after', helpAfter(examples, notes, Object.keys(variables)))
  return command.action(async () => {
    const { json } = commonSchema.parse(command.opts())
    const output = createOutput(json, command.console)
    try {
      await run(parseInput(command, schema), output)
    } finally {
      output.progress.end()
    }
  })
}

function createOutput(json: boolean, { stdout, stderr }: Console): Output {
  const progress = createProgress(stderr)
  return {
    progress,
    note(text) {
      progress.end()
      stderr.write(`${text}\n`)
    },
    show(value, text) {
      progress.end()
      const written = json ? JSON.stringify(value, null, 2) : text()
      if (written !== undefined) stdout.write(`${written}\n`)
    },
    async write(bytes) {
      progress.end()
      await new Promise<void>((resolve, reject) =>
        stdout.write(bytes, (error) => (error === undefined || error === null ? resolve() : reject(error))),
      )
    },
  }
}

function helpAfter(examples: readonly string[], notes: string | undefined, variables: readonly string[]): string {
  const parts = [`Examples:\n${examples.map((example) => `  ${INVOCATION} ${example}`).join('\n')}`]
  if (notes !== undefined) parts.unshift(notes)
  parts.push(`Environment: ${variables.length === 0 ? 'none' : variables.join(', ')}`)
  return `\n${parts.join('\n\n')}`
}

function parseInput<S extends z.ZodRawShape>(
  command: OperatorCommand,
  schema: z.ZodObject<S>,
): z.output<z.ZodObject<S>> {
  const positional = Object.fromEntries(
    command.registeredArguments.map((argument, index): [string, unknown] => [
      argument.name(),
      command.processedArgs[index],
    ]),
  )
  const parsed = schema.safeParse({ ...command.opts(), ...positional })
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
