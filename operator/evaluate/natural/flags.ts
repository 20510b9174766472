import { Command, InvalidArgumentError, Option } from 'commander'
import type { EmbeddingFlags } from '#operator/command-line/embedding-flags.ts'
import { parseEvaluation } from '#operator/evaluate/flags.ts'
import { readerOptions } from '#operator/evaluate/reader.ts'
import type { ReaderFlags } from '#operator/evaluate/reader.ts'
import { HALVES } from './questions.ts'
import type { Half, QuestionFiles } from './questions.ts'

/** A corpus, asked the questions of one or several files. */
export interface NaturalSet extends QuestionFiles {
  /** A folder with `corpus.jsonl`. */
  readonly corpus: string
  /** Undefined: the mapping that the folder holds or is named like. */
  readonly mapping: string | undefined
  /** A file of search questions of the version; undefined: a version without any. */
  readonly searchQuestions: string | undefined
}

export interface NaturalFlags extends EmbeddingFlags, ReaderFlags {
  /** At least one, each with at least one file of questions. */
  readonly sets: readonly NaturalSet[]
  /** Undefined: all questions. */
  readonly half?: Half | undefined
  /** Base URL of an OpenSearch cluster that the versions are built for; undefined: they are searched in their files. */
  readonly opensearch?: string | undefined
  readonly json?: string | undefined
  readonly html?: string | undefined
  readonly details?: string | undefined
  /** Parent folder of the temporary files; the system's default unless given. */
  readonly dataDir?: string | undefined
}

const EXAMPLES = `
FOLDER holds corpus.jsonl, and mapping.json unless it is named like one of the built-in mappings (cfpb, de, eu, fr,
obliqa). FILE holds one JSON object a line: id, question, kind, relevant (ids of the corpus) and label (answerable or
unanswerable). A version is built without a question set, as by "operator build start", and is removed afterwards.
Several corpora are separate knowledge bases, whose counts are added. Counts are by halves: parameters are tuned on one
and figures reported on the other. The questions of a file are dealt to both, unless --tuning names the tuning half. Everything runs on this machine in temporary
files, with neither Postgres nor Redis. With --embeddings, passages and questions are sent to that endpoint.

Examples:
  npm run evaluate:natural -- --corpus ./eu --questions ./questions/eu.jsonl --json natural.json
  npm run evaluate:natural -- --corpus ./de --questions ./de.jsonl --corpus ./fr --questions ./fr.jsonl

Exit codes: 0 done, 1 refused, 2 not understood, 130 interrupted.`

type Part = readonly [option: 'corpus' | 'questions' | 'tuning' | 'mapping' | 'search-questions', value: string]

/**
 * @param args the arguments after the script's name.
 * @throws CommanderError when the arguments are invalid (the message is already printed), or help was requested.
 */
export function naturalFlags(args: readonly string[]): NaturalFlags {
  // In the order of the command line, because an option belongs to the corpus before it.
  const parts: Part[] = []
  const part = (option: Part[0]) => (value: string) => {
    if (value.trim() === '') throw new InvalidArgumentError('must be a path.')
    parts.push([option, value])
    return value
  }
  const command = new Command('evaluate:natural')
    .description(
      'Builds a temporary version of each corpus as an operator does who has no question set, asks it natural ' +
        'questions through a real search node, and counts by kind what is answered and what is listed.',
    )
    .requiredOption('--corpus <folder>', 'a folder with corpus.jsonl (repeatable)', part('corpus'))
    .requiredOption(
      '--questions <file>',
      'questions for the corpus before it (repeatable; several files for one corpus are asked together)',
      part('questions'),
    )
    .option(
      '--tuning <file>',
      'questions for the corpus before it that the service was tuned on (repeatable); those of --questions are then all ' +
        'of the reporting half',
      part('tuning'),
    )
    .option(
      '--mapping <file>',
      'how the records of the corpus before it are read (default: its mapping.json, else the built-in one with the ' +
        "folder's name)",
      part('mapping'),
    )
    .option(
      '--search-questions <file>',
      'search questions of the corpus before it, JSONL of {"id","lang","q"}',
      part('search-questions'),
    )
    .addOption(
      new Option('--half <half>', "ask one half of each file's questions, as dealt by the hashes of their ids").choices(
        HALVES,
      ),
    )
    .option('--opensearch <url>', 'build the versions for the engine opensearch, in the cluster at this URL')
    .option('--json <path>', 'write the counts as JSON to this file')
    .option('--html <path>', 'write the counts as a page to this file')
    .option('--details <path>', 'write one JSON line a question to this file: decision, predictors, first passages')
  parseEvaluation(readerOptions(command), EXAMPLES, args)
  const sets = setsOf(parts)
  if (typeof sets === 'string') return command.error(`error: ${sets}`)
  return { ...command.opts<Omit<NaturalFlags, 'sets'>>(), sets }
}

/** @returns a sentence where the options do not belong together. */
function setsOf(parts: readonly Part[]): readonly NaturalSet[] | string {
  const corpora = parts.filter(([option]) => option === 'corpus').length
  const starts = parts.flatMap(([option], at) => (option === 'corpus' ? [at] : []))
  // With a single corpus, the order of the options has no meaning.
  const groups = corpora === 1 ? [parts] : starts.map((start, at) => parts.slice(start, starts[at + 1]))
  if (groups.flat().length < parts.length)
    return 'write each --questions, --tuning, --search-questions and --mapping after the --corpus it is for.'
  const sets: NaturalSet[] = []
  for (const group of groups) {
    const valuesOf = (option: Part[0]): readonly string[] =>
      group.flatMap(([name, value]) => (name === option ? [value] : []))
    const [corpus = ''] = valuesOf('corpus')
    const [mapping, ...otherMappings] = valuesOf('mapping')
    const questions = valuesOf('questions')
    if (questions.length === 0) return `name the questions for ${corpus} with --questions.`
    if (otherMappings.length > 0) return `name one --mapping for ${corpus}.`
    const [searchQuestions, ...otherSearchQuestions] = valuesOf('search-questions')
    if (otherSearchQuestions.length > 0) return `name one --search-questions for ${corpus}.`
    sets.push({ corpus, questions, tuning: valuesOf('tuning'), mapping, searchQuestions })
  }
  return sets
}
