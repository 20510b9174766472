import { readFileSync } from 'node:fs'
import { Command, CommanderError, type Option } from 'commander'
import { z } from 'zod'
import { embeddingInput, vectorCacheOptions, type EmbeddingFlags } from '#operator/command-line/embedding-flags.ts'
import { option, optionsOf } from '#operator/command-line/inputs.ts'
import { HALVES, type QuestionFiles } from './field-questions/questions.ts'
import { readerInput } from './reader.ts'
import { rewriterInput } from './rewriter.ts'

export const TARGET_RISK_DEFAULT = 0.05

const share = z
  .string()
  .transform(Number)
  .refine((value) => value > 0 && value < 1, 'must be a share between 0 and 1, like 0.05')

const sharedInput = {
  searchQuestions: option(
    '<file>',
    'JSONL of {"id","lang","q"}: search questions of the version, or of the corpus before it',
  ),
  json: option('<path>', 'write the figures as JSON to this file'),
  html: option('<path>', 'write the figures as a page to this file'),
  dataDir: option(
    '<path>',
    "folder for the temporary files, which are removed at the end (default: the system's temporary folder)",
  ),
  ...rewriterInput,
  ...readerInput,
  ...embeddingInput,
}
type SharedFlags = EmbeddingFlags & z.output<z.ZodObject<typeof sharedInput>>

const dataSetInput = {
  queries: option('<file>', 'questions (default: queries.jsonl of the folder)'),
  qrels: option('<file>', 'judgments (default: qrels.tsv of the folder, else qrels/test.tsv)'),
  answerability: option(
    '<file>',
    'labels for abstention (default: answerability.tsv of the folder, where there is one)',
  ),
  fitQueries: option('<file>', 'other questions, to which the ranking is fitted first, as a build does'),
  fitQrels: option('<file>', 'judgments of these questions (default: those of the others)'),
  limitTo: option(
    '<field>',
    'confine each question to the passages whose metadata field equals its own',
    z
      .string()
      .regex(/^[^{}]{1,100}$/u, 'must be the name of a metadata field')
      .optional(),
  ),
  targetRisk: option('<share>', 'share of the answers that may lack evidence', share.default(TARGET_RISK_DEFAULT)),
}

/** Options of the corpus before them; `setsOf` collects them. */
const ofCorpusInput = {
  corpus: option('<folder>', 'a folder with corpus.jsonl (repeatable)'),
  questions: option(
    '<file>',
    'questions for the corpus before it (repeatable; several files for one corpus are asked together)',
  ),
  tuning: option(
    '<file>',
    'questions for the corpus before it that the service was tuned on (repeatable); those of --questions are then all ' +
      'of the reporting half',
  ),
  rewritings: option(
    '<file>',
    'search queries of the questions for the corpus before it, JSONL of {"id","queries"}, which rank in their place',
  ),
  mapping: option(
    '<file>',
    "how the records of the corpus before it are read (default: its mapping.json, else the built-in one with the folder's name)",
  ),
}

const fieldQuestionInput = {
  half: option(
    '<half>',
    "ask one half of each file's questions, as dealt by the hashes of their ids",
    z.enum(HALVES).optional(),
  ),
  opensearch: option('<url>', 'build the versions for the engine opensearch, in the cluster at this URL'),
  fit: option(
    '<share>',
    'decide by a fit on the tuning half, of whose answers so many may lack evidence; the decision is in --json',
    share.optional(),
  ),
  details: option('<path>', 'write one JSON line a question to this file: decision, predictors, first passages'),
}

export type DataSetFlags = SharedFlags &
  z.output<z.ZodObject<typeof dataSetInput>> & {
    /** A folder with `corpus.jsonl`. */
    readonly folder: string
  }

/** A corpus, asked the questions of one or several files. */
export interface FieldQuestionSet extends QuestionFiles {
  /** A folder with `corpus.jsonl`. */
  readonly corpus: string
  /** Undefined: the mapping that the folder holds or is named like. */
  readonly mapping: string | undefined
  /** Undefined: a version without any. */
  readonly searchQuestions: string | undefined
}

export type FieldQuestionFlags = SharedFlags &
  z.output<z.ZodObject<typeof fieldQuestionInput>> & {
    /** At least one, each with at least one file of questions. */
    readonly sets: readonly FieldQuestionSet[]
  }

const HELP = readFileSync(new URL('./help.txt', import.meta.url), 'utf8').trimEnd()

const PARTS = ['corpus', 'questions', 'tuning', 'rewritings', 'mapping', 'search-questions'] as const
type Part = readonly [option: (typeof PARTS)[number], value: string]

/**
 * @param args the arguments after the script's name.
 * @throws CommanderError when the arguments are invalid (the message is already printed), or help was requested.
 */
export function evaluateFlags(args: readonly string[]): DataSetFlags | FieldQuestionFlags {
  // In the order of the command line, because an option belongs to the corpus before it.
  const parts: Part[] = []
  const grouped = (group: string, shape: z.ZodRawShape): readonly Option[] =>
    optionsOf(shape).map((each) => each.helpGroup(group))
  const ofDataSet = grouped('Of a data set:', dataSetInput)
  const ofFieldQuestions = grouped('Of field questions:', { ...ofCorpusInput, ...fieldQuestionInput })
  const command = new Command('evaluate')
    .description(
      'Builds a temporary version from a corpus, asks it questions through a real search node, and prints how well it ' +
        'answers: figures of a data set, or counts of field questions by kind.',
    )
    .argument('[folder]', 'folder of a data set')
  for (const each of [...optionsOf(sharedInput), ...ofDataSet, ...ofFieldQuestions]) command.addOption(each)
  for (const name of PARTS) command.on(`option:${name}`, (value: string) => void parts.push([name, value]))
  vectorCacheOptions(command)
    .helpOption('--help', 'show this')
    .addHelpText('after', `\n${HELP}`)
    .allowExcessArguments(false)
    .exitOverride()
    .parse([...args], { from: 'user' })
  const [folder] = command.args
  const sets = folder === undefined ? setsOf(parts) : undefined
  if (typeof sets === 'string') return command.error(`error: ${sets}`)
  const stray = (sets === undefined ? ofFieldQuestions : ofDataSet).find(
    (each) => command.getOptionValueSource(each.attributeName()) === 'cli',
  )
  if (stray !== undefined)
    return command.error(
      `error: ${stray.long} is for ${sets === undefined ? 'field questions' : 'the folder of a data set'}.`,
    )
  if (command.getOptionValue('rewriter') !== undefined && sets?.some(({ rewritings }) => rewritings !== undefined))
    return command.error('error: --rewriter writes what --rewritings has recorded: leave out one of them.')
  return sets === undefined
    ? { ...command.opts<Omit<DataSetFlags, 'folder'>>(), folder: folder ?? '' }
    : { ...command.opts<Omit<FieldQuestionFlags, 'sets'>>(), sets }
}

/** @returns a sentence where the options do not belong together. */
function setsOf(parts: readonly Part[]): readonly FieldQuestionSet[] | string {
  const starts = parts.flatMap(([name], at) => (name === 'corpus' ? [at] : []))
  if (starts.length === 0) return 'name the folder of a data set, or --corpus FOLDER and --questions FILE.'
  // With a single corpus, the order of the options has no meaning.
  const groups = starts.length === 1 ? [parts] : starts.map((start, at) => parts.slice(start, starts[at + 1]))
  if (groups.flat().length < parts.length)
    return 'write each --questions, --tuning, --rewritings, --search-questions and --mapping after the --corpus it is for.'
  const sets: FieldQuestionSet[] = []
  for (const group of groups) {
    const valuesOf = (wanted: Part[0]): readonly string[] =>
      group.flatMap(([name, value]) => (name === wanted ? [value] : []))
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

/** @returns the files of `compare`. @throws CommanderError as `evaluateFlags`. */
export function comparedFiles(args: readonly string[]): [before: string, after: string] {
  const command = new Command('compare')
    .description('Compares two evaluations of the same questions, each by its file of --json.')
    .argument('<before.json>')
    .argument('<after.json>')
    .helpOption('--help', 'show this')
    .allowExcessArguments(false)
    .exitOverride()
    .parse([...args], { from: 'user' })
  const [before = '', after = ''] = command.args
  return [before, after]
}

/** Returns 0 where help was requested, 2 for invalid arguments, undefined for any other error. */
export function usageExitCode(error: unknown): 0 | 2 | undefined {
  if (!(error instanceof CommanderError)) return undefined
  return error.exitCode === 0 ? 0 : 2
}
