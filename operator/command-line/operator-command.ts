import { Command } from 'commander'

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
