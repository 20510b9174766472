import { Command } from 'commander'
import { z } from 'zod'
import { ENGINES } from '#core/index/engine/description.ts'
import { embeddingInput, type EmbeddingFlags } from '#operator/command-line/embedding-flags.ts'
import { isGiven, option, optionsOf, text, whole } from '#operator/command-line/inputs.ts'

const ownInput = {
  once: option('', 'end after the exchanges were shown', isGiven),
  watch: option('', 'restart gateway, search node and job worker whenever their code changes', isGiven),
  port: option('<port>', 'port of the public operation (default: a free one)', whole(1, 65_535).optional()),
  corpus: option(
    '<path>',
    'a folder with corpus.jsonl (and mapping.json, or named like one of the built-in mappings) or ' +
      'with law in any format that "operator inspect" shows, and its source.yaml (default: the built-in rulebook)',
  ),
  draft: option('', 'show how the files of --corpus are cut and what they lack, and serve nothing', isGiven),
  readyFile: option('<path>', 'when ready, write what a caller needs as JSON to this file'),
  dataDir: option(
    '<path>',
    'where everything is kept; a second start with the same folder does not build again',
    text.default('.data/demo'),
  ),
  plan: option(
    '<path>',
    'a JSON file with limits for the caller, e.g. {"requests_per_minute": 600}; the rest is the default plan',
  ),
  engine: option(
    '<engine>',
    'where the version is searched; opensearch starts a cluster, with a JDK and Maven',
    z.enum(ENGINES).default('local'),
  ),
  assistKeyEnv: option('<name>', 'environment variable that holds the key of the chat model of --assist'),
}
type OwnFlags = z.output<z.ZodObject<typeof ownInput>> & {
  readonly query: readonly string[]
  readonly assist?: readonly string[]
}

/** A chat model that rewrites questions and reads passages. */
export interface Assist {
  /** Base URL of an OpenAI-compatible server. */
  readonly url: string
  readonly model: string
  readonly keyEnv: string | undefined
}

export type DemoFlags = ReturnType<typeof demoFlags>

/** @param args the arguments after the script's name. `--help` prints help and ends the process. */
export function demoFlags(args: readonly string[]) {
  const command = new Command('demo')
    .description(
      'Runs the whole service on this machine: Postgres, Redis, gateway, search node and job worker, ' +
        'with a corpus built, reviewed and activated.',
    )
    .option(
      '--query <text>',
      'ask this instead of the built-in questions (repeatable)',
      (query: string, all: readonly string[]) => [...all, query],
      [] as readonly string[],
    )
    .option(
      '--assist <url-and-model...>',
      'URL and MODEL: a chat model of an OpenAI-compatible server rewrites questions and reads passages',
    )
  for (const each of optionsOf({ ...ownInput, ...embeddingInput })) command.addOption(each)
  command
    .helpOption('--help', 'show this')
    .allowExcessArguments(false)
    .parse([...args], { from: 'user' })
  const { assist, assistKeyEnv, ...flags } = command.opts<EmbeddingFlags & OwnFlags>()
  const [url, model, ...others] = assist ?? []
  if (assist !== undefined && (model === undefined || others.length > 0))
    command.error('error: --assist takes two values: the base URL and the name of the model.')
  const named = url === undefined || model === undefined ? undefined : { url, model, keyEnv: assistKeyEnv }
  const embedding: EmbeddingFlags = flags
  return { ...flags, embedding, assist: named }
}
