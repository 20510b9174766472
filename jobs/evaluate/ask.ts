import type { Facets } from '#core/artifact/layout.ts'
import { BOUNDS } from '#core/bounds.ts'
import type { Embedder } from '#core/embedding/embedder.ts'
import type { ProfileParameters } from '#core/profile.ts'
import type { Filters, FoundPassage, SearchNodeClient } from '#core/rpc/search-node.ts'
import { EVALUATION_TOP_K } from './measure.ts'
import type { Question } from './questions.ts'

const ASK_CONCURRENCY = 4
const ATTEMPTS_PER_QUESTION = 3

export interface AskContext {
  readonly projectionId: string
  readonly facets: Facets
  readonly profile: ProfileParameters
  readonly embedder: Embedder
  /** Nodes that have the projection loaded; at least one. */
  readonly nodes: readonly SearchNodeClient[]
  /** UTC day, YYYY-MM-DD. */
  readonly day: string
  readonly signal: AbortSignal
  readonly onProgress: (done: number, total: number) => void
}

/** @returns the first five passages for each question, in the order of the questions. */
export async function askAll(questions: readonly Question[], context: AskContext): Promise<readonly (readonly FoundPassage[])[]> {
  const answers = new Array<readonly FoundPassage[]>(questions.length)
  for (let from = 0; from < questions.length; from += BOUNDS.embedBatchTexts) {
    const batch = questions.slice(from, from + BOUNDS.embedBatchTexts)
    const { vectors } = await context.embedder.embed(
      batch.map((question) => question.text),
      context.signal,
    )
    const waiting = batch.entries()
    async function askOnward(): Promise<void> {
      for (const [at, question] of waiting) {
        const vector = vectors[at]
        if (vector === undefined) throw new Error('the embedder sent too few vectors')
        answers[from + at] = await askOne(question, vector, from + at, context)
      }
    }
    await Promise.all(Array.from({ length: ASK_CONCURRENCY }, askOnward))
    context.onProgress(from + batch.length, questions.length)
  }
  return answers
}

/** Spreads questions over the nodes and moves on to the next node where one fails. */
async function askOne(question: Question, vector: Float32Array<ArrayBuffer>, turn: number, context: AskContext): Promise<readonly FoundPassage[]> {
  const request = {
    projection_id: context.projectionId,
    query_vector: Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength),
    limit: EVALUATION_TOP_K,
    filters: filtersOf(question, context),
    ranking: { expansion: context.profile.expansion },
  }
  for (let attempt = 0; ; attempt++) {
    const node = context.nodes[(turn + attempt) % context.nodes.length]
    if (node === undefined) throw new Error('no search node has the candidate loaded')
    context.signal.throwIfAborted()
    try {
      return (await node.call('Search', request, BOUNDS.searchTimeoutMs, context.signal)).passages
    } catch (error) {
      if (attempt + 1 >= ATTEMPTS_PER_QUESTION) throw error
    }
  }
}

/** What a caller entitled to the whole version would be pinned to, narrowed by the question's own filters. */
function filtersOf(question: Question, { facets, profile, day }: AskContext): Filters {
  const own = question.filters ?? {}
  return {
    languages: own.language ?? facets.languages,
    jurisdictions: own.jurisdiction ?? facets.jurisdictions,
    subjects: own.subject ?? [],
    any_subject: own.subject === undefined,
    verification_statuses: profile.verification_statuses,
    in_force_on: profile.in_force_only ? (own.in_force_on ?? day) : '',
  }
}
