import type { Facets } from '#core/index/facets/layout.ts'
import { EMBEDDING_BOUNDS } from '#core/embedding/bounds.ts'
import { EVALUATION_BOUNDS } from '#jobs/evaluation/bounds.ts'
import { forEachConcurrently } from '#core/platform/for-each-concurrently.ts'
import { EmbeddingError, type Embedder } from '#core/embedding/embedder.ts'
import { orders, passagesSearched, rankingOf, type ProfileParameters } from '#core/domain/retrieval-profile.ts'
import type { Reader } from '#core/reading/reader.ts'
import { passagesToRead, scoredList } from '#core/reading/scored-list.ts'
import type { Filters, FoundRow, SearchQuery, SearchResult } from '#core/domain/search.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import { RANKING_MODES } from './page/evaluation-report.ts'
import type { Question } from './questions.ts'
import type { SourceIdOf } from './source-ids.ts'

export type RankingMode = (typeof RANKING_MODES)[number]

/** A value for each ranking mode. A version without vectors is ranked by words alone. */
export interface ByMode<T> extends Readonly<Partial<Record<RankingMode, T>>> {
  readonly lexical: T
}

/** Returns what the mode has that callers get. */
export function servedOf<T>(by: ByMode<T>): T {
  return by.hybrid === undefined ? by.lexical : by.hybrid
}

export function mapModes<From, To>(by: ByMode<From>, map: (value: From) => To): ByMode<To> {
  const { dense, hybrid } = by
  const lexical = map(by.lexical)
  return dense === undefined || hybrid === undefined ? { lexical } : { lexical, dense: map(dense), hybrid: map(hybrid) }
}

type Embedding = Pick<AskContext, 'embedder'>

export function forModes<T>({ embedder }: Embedding, make: (mode: RankingMode) => T): ByMode<T> {
  const lexical = make('lexical')
  return embedder === undefined ? { lexical } : { lexical, dense: make('dense'), hybrid: make('hybrid') }
}

export function modesOf({ embedder }: Embedding): readonly RankingMode[] {
  return embedder === undefined ? ['lexical'] : RANKING_MODES
}

export function servedMode({ embedder }: Embedding): RankingMode {
  return embedder === undefined ? 'lexical' : 'hybrid'
}

/** The part of a question that a search node gets; qrels stay with the evaluation. */
export interface QuestionInput extends Pick<Question, 'text' | 'filters'> {
  /** What a rewriter wrote for the question, best first; undefined: its own words rank. */
  readonly rewritten?: readonly string[] | undefined
  /** A bitset that narrows the filters further; undefined: every row. */
  readonly onlyRows?: Uint8Array | undefined
}
const UNFILTERED: QuestionInput = { text: '', filters: undefined }

export interface AskContext {
  readonly versionId: string
  readonly facets: Facets
  readonly profile: ProfileParameters
  /** Undefined: the version has no vectors. */
  readonly embedder: Embedder | undefined
  /** The reader of the profile; only one that orders is asked with each question. */
  readonly reader?: Reader | undefined
  /** Nodes that have the version loaded; at least one. */
  readonly nodes: readonly SearchNodeClient[]
  /** UTC day, YYYY-MM-DD. */
  readonly day: string
  readonly signal: AbortSignal
  readonly onProgress: (done: number, total: number) => void
}

export interface AskModesContext extends AskContext {
  readonly modes: readonly RankingMode[]
  /** Number of passages requested, at most `searchLimitMax`. */
  readonly limit: number
}

export type AskRecordsContext = AskContext & { readonly sourceIdOf: SourceIdOf }

/** A result with the ids of its passages alone, which a search node finds without reading them. */
export interface RecordResult extends Pick<SearchResult, 'predictors' | 'unsupported'> {
  readonly passages: readonly (FoundRow & { readonly sourceId: string })[]
}

/** Returns one vector a question; none for a version without vectors. */
export async function embedQuestions(
  questions: readonly QuestionInput[],
  { embedder, signal }: Pick<AskContext, 'embedder' | 'signal'>,
): Promise<readonly Float32Array[]> {
  if (embedder === undefined) return []
  const embedded: Float32Array[] = []
  for (let from = 0; from < questions.length; from += EMBEDDING_BOUNDS.embedBatchTexts) {
    const batch = questions.slice(from, from + EMBEDDING_BOUNDS.embedBatchTexts)
    const texts = batch.map(({ text, rewritten = [] }) => rewritten[0] ?? text)
    const { vectors } = await embedder.embed(texts, 'query', signal)
    if (vectors.length < texts.length) throw new Error('the embedder sent too few vectors')
    embedded.push(...vectors)
  }
  return embedded
}

/** With the scores of a reader that ordered the passages, where they also decide. */
export type RankedResult = SearchResult & { readonly read?: readonly number[] }

type Take<Q, Reply> = (at: number, mode: RankingMode, reply: Reply, question: Q) => void

/**
 * Asks every question of every mode. Each reply is passed to `take` on arrival and not kept, so that memory does not
 * grow with the number of replies.
 */
export async function askModes<Q extends QuestionInput>(
  questions: readonly Q[],
  context: AskModesContext,
  take: Take<Q, RankedResult>,
): Promise<void> {
  await askEach(questions, context, (query, mode, turn) => ranked(query, mode, turn, context), take)
}

/** As `askModes`, for what needs no more than the ids of the passages. */
export async function askRecords<Q extends QuestionInput>(
  questions: readonly Q[],
  context: AskModesContext & AskRecordsContext,
  take: Take<Q, RecordResult>,
): Promise<void> {
  const { sourceIdOf } = context
  const ask = async (query: SearchQuery, mode: RankingMode, turn: number): Promise<RecordResult> => {
    const { passages, rows, ...reply } = await ranked({ ...query, rowsOnly: true }, mode, turn, context)
    return {
      ...reply,
      passages: [...passages, ...rows.map((found) => ({ ...found, sourceId: sourceIdOf(found.row) }))],
    }
  }
  await askEach(questions, context, ask, take)
}

async function askEach<Q extends QuestionInput, Reply>(
  questions: readonly Q[],
  context: AskModesContext,
  ask: (query: SearchQuery, mode: RankingMode, turn: number) => Promise<Reply>,
  take: Take<Q, Reply>,
): Promise<void> {
  for (let from = 0; from < questions.length; from += EMBEDDING_BOUNDS.embedBatchTexts) {
    const batch = questions.slice(from, from + EMBEDDING_BOUNDS.embedBatchTexts)
    const vectors = await embedQuestions(batch, context)
    await forEachConcurrently(batch, EVALUATION_BOUNDS.evaluationConcurrency, async (question, at) => {
      for (const mode of context.modes)
        take(from + at, mode, await ask(queryOf(question, mode, vectors[at], context), mode, from + at), question)
    })
    context.onProgress(from + batch.length, questions.length)
  }
}

export async function askOne(
  question: QuestionInput,
  mode: RankingMode,
  vector: Float32Array | undefined,
  context: Omit<AskModesContext, 'modes'>,
): Promise<SearchResult> {
  return await ranked(queryOf(question, mode, vector, context), mode, 0, context)
}

function queryOf(
  question: QuestionInput,
  mode: RankingMode,
  vector: Float32Array | undefined,
  context: Omit<AskModesContext, 'modes'>,
): SearchQuery {
  return {
    versionId: context.versionId,
    ...inputsFor(mode, question.text, vector),
    limit: context.limit,
    filters: filtersOf(question, context),
    entitled: filtersOf(UNFILTERED, context),
    ranking: rankingOf(context.profile, question.filters?.in_force_on ?? context.day),
    onlyRows: question.onlyRows,
    rewritten: mode === 'dense' ? [] : question.rewritten,
  }
}

/** Orders the first passages of the served mode by the scores of the profile's reader, as the gateway does. */
async function ranked(request: SearchQuery, mode: RankingMode, turn: number, context: AskContext) {
  const { reader } = context.profile
  if (reader === null || !orders(reader) || mode !== servedMode(context)) return await search(request, turn, context)
  if (context.reader === undefined) throw new Error('a reader orders the passages and none was opened')
  const limit = passagesSearched(context.profile, request.limit)
  const reply = await search({ ...request, limit, rowsOnly: false }, turn, context)
  const passages = passagesToRead(reader, reply.passages)
  const { scores } =
    passages.length === 0 ? { scores: [] } : await context.reader.read(request.text, passages, context.signal)
  return { ...reply, ...scoredList(reader, reply.passages, scores, request.limit) }
}

/**
 * Returns the rows that a search by the vector alone finds among the allowed rows, best first. They are compared with
 * exact search.
 * @param onlyRows bit row % 8 of byte row / 8.
 */
export async function findRows(vector: Float32Array, onlyRows: Buffer, limit: number, context: AskContext) {
  const filters = filtersOf(UNFILTERED, context)
  const { rows } = await search(
    {
      versionId: context.versionId,
      ...inputsFor('dense', '', vector),
      limit,
      filters: { ...filters, verificationStatuses: context.facets.statuses, inForceOn: '' },
      entitled: filters,
      ranking: { ...rankingOf(context.profile, context.day), perDocumentMax: 0, collapseRevisionsOn: '' },
      rowsOnly: true,
      onlyRows,
    },
    0,
    context,
  )
  return rows.map(({ row }) => row)
}

/** Distributes requests over the nodes and tries the next node where one fails. */
async function search(request: SearchQuery, turn: number, context: AskContext): Promise<SearchResult> {
  for (let attempt = 0; ; attempt++) {
    const node = context.nodes[(turn + attempt) % context.nodes.length]
    if (node === undefined) throw new Error('no search node has the candidate loaded')
    context.signal.throwIfAborted()
    try {
      return await node.search(request, EVALUATION_BOUNDS.evaluationSearchTimeoutMs, context.signal)
    } catch (error) {
      if (attempt + 1 >= EVALUATION_BOUNDS.evaluationAttemptsMax) throw error
    }
  }
}

/** Defines the input of each mode; a search node ranks by the inputs that it gets. */
function inputsFor(mode: RankingMode, text: string, vector: Float32Array | undefined) {
  return { vector: mode === 'lexical' ? undefined : vector, text: mode === 'dense' ? '' : text }
}

/** Returns the filters of a caller who is entitled to the whole version, narrowed by the question's own filters. */
function filtersOf(question: QuestionInput, { facets, profile, day }: AskContext): Filters {
  const own = question.filters ?? {}
  return {
    languages: own.language ?? facets.languages,
    jurisdictions: own.jurisdiction ?? facets.jurisdictions,
    subjects: own.subject ?? [],
    anySubject: own.subject === undefined,
    verificationStatuses: profile.verification_statuses,
    inForceOn: profile.in_force_only ? (own.in_force_on ?? day) : '',
    documents: [],
  }
}

/**
 * Returns an embedder that embeds each text of a role once and remembers its vector, for questions that are asked in
 * several stages. The vectors live as long as it: one evaluation with its comparison, whose questions are bounded.
 */
export function embedOnce(embedder: Embedder): Embedder {
  const known = new Map<string, Float32Array<ArrayBuffer>>()
  return {
    space: embedder.space,
    embed: async (texts, role, signal) => {
      const keys = texts.map((text) => `${role} ${text}`)
      const unknown = [...new Set(texts.filter((_, at) => !known.has(keys[at] ?? '')))]
      const sent = unknown.length === 0 ? undefined : await embedder.embed(unknown, role, signal)
      for (const [at, text] of unknown.entries()) {
        const vector = sent?.vectors[at]
        if (vector === undefined) throw new EmbeddingError('the provider sent too few vectors')
        known.set(`${role} ${text}`, vector)
      }
      const vectors = keys.flatMap((key) => known.get(key) ?? [])
      return { vectors, tokens: sent?.tokens ?? null, overlong: sent?.overlong ?? 0 }
    },
  }
}
