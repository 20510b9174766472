import { Command, InvalidArgumentError, Option } from 'commander'
import { ENGINES, type Engine } from '#core/index/engine/description.ts'
import { embeddingOptions, type EmbeddingFlags } from '#operator/command-line/embedding-flags.ts'

interface OwnFlags {
  readonly once: boolean
  readonly watch: boolean
  /** Absent: a free port. */
  readonly port?: number | undefined
  /** The user's folder: `corpus.jsonl` or files of law. */
  readonly corpus?: string | undefined
  readonly readyFile?: string | undefined
  readonly dataDir: string
  /** A JSON file with any of the plan's fields. */
  readonly plan?: string | undefined
  readonly query: readonly string[]
  /** Where the version is searched. */
  readonly engine: Engine
  /** Variable that holds the key of the chat model. */
  readonly assistKeyEnv?: string | undefined
}

/** A chat model that rewrites questions and reads passages. */
export interface Assist {
  /** Base URL of an OpenAI-compatible server. */
  readonly url: string
  readonly model: string
  readonly keyEnv: string | undefined
}

export type DemoFlags = ReturnType<typeof demoFlags>

function portNumber(text: string): number {
  const port = Number(text)
  if (!/^\d{1,5}$/.test(text) || port < 1 || port > 65_535)
    throw new InvalidArgumentError('must be a port from 1 to 65535.')
  return port
}

/** @param args the arguments after the script's name. `--help` prints help and ends the process. */
export function demoFlags(args: readonly string[]) {
  const command = new Command('demo')
    .description(
      'Runs the whole service on this machine: Postgres, Redis, gateway, search node and job worker, ' +
        'with a corpus built, reviewed and activated.',
    )
    .option('--once', 'end after the exchanges were shown', false)
    .option('--watch', 'restart gateway, search node and job worker whenever their code changes', false)
    .option('--port <port>', 'port of the public operation (default: a free one)', portNumber)
    .option(
      '--corpus <path>',
      'a folder with corpus.jsonl (and mapping.json, or named like one of the built-in mappings) or ' +
        'with law in any format that "operator inspect" shows, and its source.yaml (default: the built-in rulebook)',
    )
    .option('--ready-file <path>', 'when ready, write what a caller needs as JSON to this file')
    .option(
      '--data-dir <path>',
      'where everything is kept; a second start with the same folder does not build again',
      '.data/demo',
    )
    .option(
      '--plan <path>',
      'a JSON file with limits for the caller, e.g. {"requests_per_minute": 600}; the rest is the default plan',
    )
    .addOption(
      new Option(
        '--engine <engine>',
        'where the version is searched; opensearch starts a cluster, with a JDK and Maven',
      )
        .choices(ENGINES)
        .default('local'),
    )
    .option(
      '--query <text>',
      'ask this instead of the built-in questions (repeatable)',
      (text: string, all: readonly string[]) => [...all, text],
      [] as readonly string[],
    )
    .option(
      '--assist <url-and-model...>',
      'URL and MODEL: a chat model of an OpenAI-compatible server rewrites questions and reads passages',
    )
    .option('--assist-key-env <name>', 'environment variable that holds its key')
  embeddingOptions(command)
    .helpOption('--help', 'show this')
    .allowExcessArguments(false)
    .parse([...args], { from: 'user' })
  const { once, watch, port, corpus, readyFile, dataDir, plan, query, engine, assist, assistKeyEnv, ...embedding } =
    command.opts<EmbeddingFlags & OwnFlags & { readonly assist?: readonly string[] }>()
  const own = { once, watch, port, corpus, readyFile, dataDir, plan, query, engine }
  const [url, model, ...others] = assist ?? []
  if (assist !== undefined && (model === undefined || others.length > 0))
    command.error('error: --assist takes two values: the base URL and the name of the model.')
  const named = url === undefined || model === undefined ? undefined : { url, model, keyEnv: assistKeyEnv }
  return { ...own, embedding, assist: named }
}
