import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Facets } from '#core/artifact/layout.ts'
import { sha256 } from '#core/artifact/manifest.ts'
import type { ArtifactStore } from '#core/artifact/store.ts'
import { BOUNDS } from '#core/bounds.ts'
import type { Embedder } from '#core/embedding/embedder.ts'
import { OperatorError } from '#core/errors.ts'
import type { ProfileParameters } from '#core/profile.ts'
import type { FoundPassage, SearchNodeClient } from '#core/rpc/search-node.ts'
import { prepareOnLiveNodes } from '#jobs/search-nodes.ts'
import type { Projection } from '#jobs/search-nodes.ts'
import { askAll } from './ask.ts'
import { sampleKnownItems } from './known-items.ts'
import type { KnownItem } from './known-items.ts'
import { measure } from './measure.ts'
import type { AskedQuestion, Evaluation } from './measure.ts'
import { passagesIn } from './passages.ts'
import { DEFAULT_THRESHOLD } from './threshold.ts'
import { parseQuestions } from './questions.ts'
import type { Question } from './questions.ts'

export interface EvaluationInput {
  readonly projection: Projection
  readonly artifactFolder: string
  readonly facets: Facets
  readonly profile: ProfileParameters
  /** SHA-256 (hex) of a question set in the store; undefined: known items. */
  readonly questionsSha256: string | undefined
  readonly store: ArtifactStore
  readonly embedder: Embedder
  readonly nodes: readonly SearchNodeClient[]
  /** UTC day that "in force" is judged by. */
  readonly day: string
  readonly signal: AbortSignal
  readonly onProgress: (done: number, total: number) => void
}

export interface Evaluated {
  readonly evaluation: Evaluation
  readonly asked: readonly AskedQuestion[]
}

/**
 * Loads the candidate on the search nodes and asks it as a caller would be answered: real search, real vectors, mandatory filters.
 * The artifact's integrity has been verified before, and each node verifies it again when it loads.
 * @throws OperatorError when no search node can be asked or the question set is wrong.
 */
export async function evaluate(input: EvaluationInput): Promise<Evaluated> {
  const prepared = await prepareOnLiveNodes(input.nodes, input.projection, input.signal)
  if (prepared.loaded.length === 0) throw new NoSearchNodeError(prepared.failed.map(({ address, reason }) => `${address} ${reason}`))
  const defaultThreshold = DEFAULT_THRESHOLD[input.embedder.space.provider]
  const context = { ...input, projectionId: input.projection.projectionId, nodes: prepared.loaded }
  if (input.questionsSha256 === undefined) {
    const items = await sampleKnownItems(passagesIn(join(input.artifactFolder, 'passages.jsonl')), input.day)
    if (items.length === 0)
      throw new OperatorError(
        'No passage is verified and in force today, so there is nothing to evaluate: check the dates and statuses of the import, or build with a question set.',
      )
    const answers = await askAll(
      items.map((item) => item.question),
      context,
    )
    const asked = items.map((item, at) => judgeKnownItem(item, answers[at] ?? []))
    return { asked, evaluation: measure(asked, { kind: 'known items', sha256: null, unknownRelevant: [], defaultThreshold }) }
  }
  const questions = await readQuestions(input.store, input.questionsSha256)
  const answers = await askAll(questions, context)
  const sources = await sourcesOf(input.artifactFolder, questions, answers)
  const asked = questions.map((question, at) => judge(question, answers[at] ?? [], sources.ofPassage))
  return {
    asked,
    evaluation: measure(asked, { kind: 'question set', sha256: input.questionsSha256, unknownRelevant: sources.unknownRelevant, defaultThreshold }),
  }
}

/** Not the corpus's fault: search nodes may come back, so the build is tried again. */
class NoSearchNodeError extends Error {
  override readonly name = 'NoSearchNodeError'
  constructor(reasons: readonly string[]) {
    super(
      `No search node could load the candidate (${reasons.length === 0 ? 'none of SEARCH_NODES answers' : reasons.join('; ')}): start or repair a search node, then build again.`,
    )
  }
}

async function readQuestions(store: ArtifactStore, sha256Hex: string): Promise<readonly Question[]> {
  const path = store.snapshotFile(sha256Hex)
  const size = await stat(path).then(
    (found) => found.size,
    () => undefined,
  )
  if (size === undefined) throw new OperatorError('The question set is not in the artifact store: import it again and build with it.')
  if (size > BOUNDS.evaluationQuestionsBytesMax)
    throw new OperatorError(`The question set is larger than ${BOUNDS.evaluationQuestionsBytesMax} bytes: take a sample and build again.`)
  const bytes = await readFile(path)
  if (sha256(bytes).toString('hex') !== sha256Hex)
    throw new OperatorError('The question set in the artifact store was changed after it was captured: import it again and build with it.')
  return parseQuestions(bytes.toString('utf8'))
}

interface Sources {
  readonly ofPassage: ReadonlyMap<string, string>
  readonly unknownRelevant: readonly string[]
}

/** One pass over the passages: the source ids of those that were found, and which relevant ids no passage carries. */
async function sourcesOf(artifactFolder: string, questions: readonly Question[], answers: readonly (readonly FoundPassage[])[]): Promise<Sources> {
  const found = new Set(answers.flat().map((passage) => passage.chunk_id))
  const unknown = new Set(questions.flatMap((question) => question.relevant))
  const ofPassage = new Map<string, string>()
  for await (const passage of passagesIn(join(artifactFolder, 'passages.jsonl'))) {
    unknown.delete(passage.source_id)
    if (found.has(passage.chunk_id)) ofPassage.set(passage.chunk_id, passage.source_id)
  }
  return { ofPassage, unknownRelevant: [...unknown].sort() }
}

/** A section cut into several passages counts once. */
function judge(question: Question, answer: readonly FoundPassage[], sourceOf: ReadonlyMap<string, string>): AskedQuestion {
  const sections = new Set(answer.map((passage) => sourceOf.get(passage.chunk_id)))
  return {
    id: question.id,
    relevant: question.relevant.length,
    found: question.relevant.filter((id) => sections.has(id)).length,
    topScore: answer[0]?.score ?? 0,
  }
}

/** The passage itself counts, or one with the same text: rules repeat themselves from part to part. */
function judgeKnownItem({ question, text }: KnownItem, answer: readonly FoundPassage[]): AskedQuestion {
  const found = answer.some((passage) => passage.chunk_id === question.id || passage.text === text)
  return { id: question.id, relevant: 1, found: found ? 1 : 0, topScore: answer[0]?.score ?? 0 }
}
