import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { embeddingOptions, vectorCacheOptions, type EmbeddingFlags } from '#operator/command-line/embedding-flags.ts'
import { HALVES, type Half, type QuestionFiles } from './field-questions/questions.ts'
import { readerOptions, type ReaderFlags } from './reader.ts'

interface SharedFlags extends EmbeddingFlags, ReaderFlags {
  readonly json?: string | undefined
  readonly html?: string | undefined
  readonly dataDir?: string | undefined
}

export interface DataSetFlags extends SharedFlags {
  /** A folder with `corpus.jsonl`. */
  readonly folder: string
  readonly queries: string | undefined
  readonly qrels: string | undefined
  readonly answerability: string | undefined
  /** Other questions, to which the ranking is fitted first. */
  readonly fitQueries: string | undefined
  readonly fitQrels: string | undefined
  readonly limitTo: string | undefined
  /** A file of search questions of the version. */
  readonly searchQuestions: string | undefined
  /** Maximum share of the answers without evidence. */
  readonly targetRisk: number
}

/** A corpus, asked the questions of one or several files. */
export interface FieldQuestionSet extends QuestionFiles {
  /** A folder with `corpus.jsonl`. */
  readonly corpus: string
  /** File of recorded rewritings. */
  readonly rewritings: string | undefined
  /** Undefined: the mapping that the folder holds or is named like. */
  readonly mapping: string | undefined
  /** A file of search questions of the version; undefined: a version without any. */
  readonly searchQuestions: string | undefined
}

export interface FieldQuestionFlags extends SharedFlags {
  /** At least one, each with at least one file of questions. */
  readonly sets: readonly FieldQuestionSet[]
  /** Undefined: all questions. */
  readonly half?: Half | undefined
  /** Base URL of an OpenSearch cluster that the versions are built for; undefined: they are searched in their files. */
  readonly opensearch?: string | undefined
  readonly details?: string | undefined
  /** Share of the answers that may lack evidence under a decision fitted on the tuning half; undefined: the default. */
  readonly fit?: number | undefined
}

export const TARGET_RISK_DEFAULT = 0.05

const EXAMPLES = `
FOLDER holds a BEIR-style data set: corpus.jsonl with _id or id, title, text and metadata; queries.jsonl; qrels.tsv or
qrels/test.tsv; and perhaps answerability.tsv (query id, then answerable, unanswerable or partial).

With --corpus and --questions, field questions are asked of versions that are built without a question set, as by
"operator build start". The folder of --corpus holds corpus.jsonl, and mapping.json unless it is named like one of the
built-in mappings (cfpb, de, eu, fr, obliqa). A file of --questions holds one JSON object a line: id, question, kind,
relevant (ids of the corpus) and label (answerable or unanswerable). Several corpora are separate knowledge bases, whose
counts are added. Parameters are tuned on one half of the questions and figures reported on the other: the questions of
a file are dealt to both, unless --tuning names the tuning half.

Everything runs on this machine in temporary files, with neither Postgres nor Redis. With --embeddings, passages and
questions are sent to that endpoint.

Examples:
  npm run evaluate -- ./scifact --json scifact.json
  npm run evaluate -- ./contracts --limit-to contract --html contracts.html
  npm run evaluate -- ./scifact --embeddings http://127.0.0.1:8080/v1 --embedding-model intfloat/multilingual-e5-small
  npm run evaluate -- ./rules --fit-queries ./rules/queries_dev.jsonl --fit-qrels ./rules/qrels_dev.tsv
  npm run evaluate -- --corpus ./eu --questions ./questions/eu.jsonl --json field.json
  npm run evaluate -- --corpus ./de --questions ./de.jsonl --corpus ./fr --questions ./fr.jsonl

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

function dataSetOptions(): readonly Option[] {
  return [
    new Option('--queries <file>', 'questions (default: queries.jsonl of the folder)'),
    new Option('--qrels <file>', 'judgments (default: qrels.tsv of the folder, else qrels/test.tsv)'),
    new Option(
      '--answerability <file>',
      'labels for abstention (default: answerability.tsv of the folder, where there is one)',
    ),
    new Option('--fit-queries <file>', 'other questions, to which the ranking is fitted first, as a build does'),
    new Option('--fit-qrels <file>', 'judgments of these questions (default: those of the others)'),
    new Option(
      '--limit-to <field>',
      'confine each question to the passages whose metadata field equals its own',
    ).argParser(fieldName),
    new Option('--target-risk <share>', 'share of the answers that may lack evidence')
      .argParser(share)
      .default(TARGET_RISK_DEFAULT),
  ]
}

type Part = readonly [
  option: 'corpus' | 'questions' | 'tuning' | 'rewritings' | 'mapping' | 'search-questions',
  value: string,
]
type PartOf = (option: Part[0]) => (value: string) => string

function fieldQuestionOptions(part: PartOf): readonly Option[] {
  return [
    new Option('--corpus <folder>', 'a folder with corpus.jsonl (repeatable)').argParser(part('corpus')),
    new Option(
      '--questions <file>',
      'questions for the corpus before it (repeatable; several files for one corpus are asked together)',
    ).argParser(part('questions')),
    new Option(
      '--tuning <file>',
      'questions for the corpus before it that the service was tuned on (repeatable); those of --questions are then all ' +
        'of the reporting half',
    ).argParser(part('tuning')),
    new Option(
      '--rewritings <file>',
      'search queries of the questions for the corpus before it, JSONL of {"id","queries"}, which rank in their place',
    ).argParser(part('rewritings')),
    new Option(
      '--mapping <file>',
      'how the records of the corpus before it are read (default: its mapping.json, else the built-in one with the ' +
        "folder's name)",
    ).argParser(part('mapping')),
    new Option('--half <half>', "ask one half of each file's questions, as dealt by the hashes of their ids").choices(
      HALVES,
    ),
    new Option('--opensearch <url>', 'build the versions for the engine opensearch, in the cluster at this URL'),
    new Option(
      '--fit <share>',
      'decide by a fit on the tuning half, of whose answers so many may lack evidence; the decision is in --json',
    ).argParser(share),
    new Option('--details <path>', 'write one JSON line a question to this file: decision, predictors, first passages'),
  ]
}

/**
 * @param args the arguments after the script's name.
 * @throws CommanderError when the arguments are invalid (the message is already printed), or help was requested.
 */
export function evaluateFlags(args: readonly string[]): DataSetFlags | FieldQuestionFlags {
  // In the order of the command line, because an option belongs to the corpus before it.
  const parts: Part[] = []
  const part: PartOf = (option) => (value) => {
    if (value.trim() === '') throw new InvalidArgumentError('must be a path.')
    parts.push([option, value])
    return value
  }
  const ofDataSet = dataSetOptions().map((option) => option.helpGroup('Of a data set:'))
  const ofFieldQuestions = fieldQuestionOptions(part).map((option) => option.helpGroup('Of field questions:'))
  const command = new Command('evaluate')
    .description(
      'Builds a temporary version from a corpus, asks it questions through a real search node, and prints how well it ' +
        'answers: figures of a data set, or counts of field questions by kind.',
    )
    .argument('[folder]', 'folder of a data set')
    .option(
      '--search-questions <file>',
      'JSONL of {"id","lang","q"}: search questions of the version, or of the corpus before it',
      part('search-questions'),
    )
    .option('--json <path>', 'write the figures as JSON to this file')
    .option('--html <path>', 'write the figures as a page to this file')
    .option(
      '--data-dir <path>',
      "folder for the temporary files, which are removed at the end (default: the system's temporary folder)",
    )
  for (const option of [...ofDataSet, ...ofFieldQuestions]) command.addOption(option)
  vectorCacheOptions(embeddingOptions(readerOptions(command)))
    .helpOption('--help', 'show this')
    .addHelpText('after', EXAMPLES)
    .allowExcessArguments(false)
    .exitOverride()
    .parse([...args], { from: 'user' })
  const [folder] = command.args
  const sets = folder === undefined ? setsOf(parts) : undefined
  if (typeof sets === 'string') return command.error(`error: ${sets}`)
  const stray = (sets === undefined ? ofFieldQuestions : ofDataSet).find(
    (option) => command.getOptionValueSource(option.attributeName()) === 'cli',
  )
  if (stray !== undefined)
    return command.error(
      `error: ${stray.long} is for ${sets === undefined ? 'field questions' : 'the folder of a data set'}.`,
    )
  return sets === undefined
    ? { ...command.opts<Omit<DataSetFlags, 'folder'>>(), folder: folder ?? '' }
    : { ...command.opts<Omit<FieldQuestionFlags, 'sets'>>(), sets }
}

/** @returns a sentence where the options do not belong together. */
function setsOf(parts: readonly Part[]): readonly FieldQuestionSet[] | string {
  const starts = parts.flatMap(([option], at) => (option === 'corpus' ? [at] : []))
  if (starts.length === 0) return 'name the folder of a data set, or --corpus FOLDER and --questions FILE.'
  // With a single corpus, the order of the options has no meaning.
  const groups = starts.length === 1 ? [parts] : starts.map((start, at) => parts.slice(start, starts[at + 1]))
  if (groups.flat().length < parts.length)
    return 'write each --questions, --tuning, --rewritings, --search-questions and --mapping after the --corpus it is for.'
  const sets: FieldQuestionSet[] = []
  for (const group of groups) {
    const valuesOf = (option: Part[0]): readonly string[] =>
      group.flatMap(([name, value]) => (name === option ? [value] : []))
    const [corpus = ''] = valuesOf('corpus')
    const questions = valuesOf('questions')
    if (questions.length === 0) return `name the questions for ${corpus} with --questions.`
    for (const one of ['mapping', 'rewritings', 'search-questions'] as const)
      if (valuesOf(one).length > 1) return `name one --${one} for ${corpus}.`
    const [[mapping], [rewritings]] = [valuesOf('mapping'), valuesOf('rewritings')]
    const [searchQuestions] = valuesOf('search-questions')
    sets.push({ corpus, questions, tuning: valuesOf('tuning'), rewritings, mapping, searchQuestions })
  }
  return sets
}

/** Returns 0 where help was requested, 2 for invalid arguments, undefined for any other error. */
export function usageExitCode(error: unknown): 0 | 2 | undefined {
  if (!(error instanceof CommanderError)) return undefined
  return error.exitCode === 0 ? 0 : 2
}
