import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { embeddingOptions, vectorCacheOptions } from '#operator/command-line/embedding-flags.ts'
import type { EmbeddingFlags } from '#operator/command-line/embedding-flags.ts'
import { readerOptions } from './reader.ts'
import type { ReaderFlags } from './reader.ts'

export interface EvaluateFlags extends EmbeddingFlags, ReaderFlags {
  /** A folder with `corpus.jsonl`. */
  readonly folder: string
  readonly queries: string | undefined
  readonly qrels: string | undefined
  readonly answerability: string | undefined
  /** Other questions, to which the ranking is fitted first. */
  readonly fitQueries: string | undefined
  readonly fitQrels: string | undefined
  /** A metadata field of records and queries. */
  readonly limitTo: string | undefined
  /** A file of search questions of the version. */
  readonly searchQuestions: string | undefined
  readonly json: string | undefined
  readonly html: string | undefined
  /** Maximum share of the answers without evidence. */
  readonly targetRisk: number
  /** Parent folder of the temporary files; the system's default unless given. */
  readonly dataDir: string | undefined
}

export const TARGET_RISK_DEFAULT = 0.05

const EXAMPLES = `
The folder holds a BEIR-style data set: corpus.jsonl with _id or id, title, text and metadata; queries.jsonl; qrels.tsv
or qrels/test.tsv; and perhaps answerability.tsv (query id, then answerable, unanswerable or partial). Everything runs
on this machine in temporary files, with neither Postgres nor Redis. With --embeddings, passages and questions are sent
to that endpoint.

Examples:
  npm run evaluate -- ./scifact --json scifact.json
  npm run evaluate -- ./contracts --limit-to contract --html contracts.html
  npm run evaluate -- ./scifact --embeddings http://127.0.0.1:8080/v1 --embedding-model intfloat/multilingual-e5-small
  npm run evaluate -- ./rules --queries ./rules/queries_dev.jsonl --qrels ./rules/qrels_dev.tsv
  npm run evaluate -- ./rules --fit-queries ./rules/queries_dev.jsonl --fit-qrels ./rules/qrels_dev.tsv

Exit codes: 0 done, 1 refused, 2 not understood, 130 interrupted.`

function share(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !(value > 0 && value < 1))
    throw new InvalidArgumentError('must be a share between 0 and 1, like 0.05.')
  return value
}

function fieldName(text: string): string {
  if (!/^[^{}]{1,100}$/u.test(text)) throw new InvalidArgumentError('must be the name of a metadata field.')
  return text
}

/**
 * @param args the arguments after the script's name.
 * @throws CommanderError when the arguments are invalid (the message is already printed), or help was requested.
 */
export function evaluateFlags(args: readonly string[]): EvaluateFlags {
  const command = new Command('evaluate')
    .description(
      'Builds a temporary version from a data set, asks it every question through a real search ' +
        'node, and prints how well it answers.',
    )
    .argument('<folder>', 'folder of the data set')
    .option('--queries <file>', 'questions (default: queries.jsonl of the folder)')
    .option('--qrels <file>', 'judgments (default: qrels.tsv of the folder, else qrels/test.tsv)')
    .option(
      '--answerability <file>',
      'labels for abstention (default: answerability.tsv of the folder, where there is one)',
    )
    .option('--fit-queries <file>', 'other questions, to which the ranking is fitted first, as a build does')
    .option('--fit-qrels <file>', 'judgments of these questions (default: those of the others)')
    .option(
      '--limit-to <field>',
      'confine each question to the passages whose metadata field equals its own',
      fieldName,
    )
    .option('--search-questions <file>', 'JSONL of {"id","lang","q"}: search questions of the version')
    .option('--json <path>', 'write the figures as JSON to this file')
    .option('--html <path>', 'write the report page to this file')
    .option('--target-risk <share>', 'share of the answers that may lack evidence', share, TARGET_RISK_DEFAULT)
  parseEvaluation(readerOptions(command), EXAMPLES, args)
  const [folder = ''] = command.args
  return { folder, ...command.opts<Omit<EvaluateFlags, 'folder'>>() }
}

/**
 * Adds the options that every evaluation has, and parses its arguments.
 * @param examples shown after the help.
 * @throws CommanderError when the arguments are invalid (the message is already printed), or help was requested.
 */
export function parseEvaluation(command: Command, examples: string, args: readonly string[]): void {
  command.option(
    '--data-dir <path>',
    "folder for the temporary files, which are removed at the end (default: the system's temporary folder)",
  )
  vectorCacheOptions(embeddingOptions(command))
    .helpOption('--help', 'show this')
    .addHelpText('after', examples)
    .allowExcessArguments(false)
    .exitOverride()
    .parse([...args], { from: 'user' })
}

/** Returns 0 where help was requested, 2 for invalid arguments, undefined for any other error. */
export function usageExitCode(error: unknown): 0 | 2 | undefined {
  if (!(error instanceof CommanderError)) return undefined
  return error.exitCode === 0 ? 0 : 2
}
