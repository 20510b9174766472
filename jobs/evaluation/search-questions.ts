import { sha256 } from '#core/platform/digest.ts'
import type { Manifest } from '#core/index/format/manifest.ts'
import type { QueryExpansion } from '#core/index/query-expansions/layout.ts'
import { verifiedQueryExpansionsIn } from '#core/index/query-expansions/reader.ts'
import { verifiedPassagesIn } from '#core/index/passages/records.ts'
import { EVALUATION_BOUNDS } from '#jobs/evaluation/bounds.ts'
import { askRecords, servedMode, type AskRecordsContext } from './ask.ts'
import { createBottomKSample, isServed } from './known-items.ts'
import type { SearchQuestionFigures } from './page/evaluation-report.ts'

const { searchQuestionsAskedMax, searchQuestionsShownMax } = EVALUATION_BOUNDS

type Artifact = Pick<Manifest, 'files'> & { readonly folder: string }

/**
 * Describes the search questions of a version: their number, a sample, those that several passages share, and those of
 * a sample that do not find their own passage first when they are asked of the version.
 * @returns undefined for a version without search questions.
 * @throws ArtifactError if the artifact was altered.
 */
export async function searchQuestionFigures(artifact: Artifact, context: AskRecordsContext) {
  if (artifact.files['search-questions.jsonl'] === undefined) return undefined
  const { total, passages, repeated, sample } = await read(artifact)
  const served = await servedIds(artifact, new Set(sample.map(({ id }) => id)), context.day)
  const asked = sample.filter(({ id }) => served.has(id))
  const elsewhere = await foundElsewhere(asked, context)
  return {
    questions: total,
    passages,
    sample: sample.slice(0, searchQuestionsShownMax).map(({ id, lang, q }) => ({ id, lang, q })),
    repeated: repeated.slice(0, searchQuestionsShownMax),
    repeated_total: repeated.length,
    asked: asked.length,
    elsewhere: elsewhere.slice(0, searchQuestionsShownMax),
    elsewhere_total: elsewhere.length,
  }
}

/** The parts and revisions of a record are one passage here. What is repeated comes by passages, most first. */
async function read({ folder, files }: Artifact) {
  const ids = new Set<string>()
  const idsByText = new Map<string, Set<string>>()
  const sample = createBottomKSample<{ readonly id: string; readonly question: QueryExpansion }>(
    searchQuestionsAskedMax,
  )
  let total = 0
  for await (const question of verifiedQueryExpansionsIn(folder, files['search-questions.jsonl'])) {
    const { id, lang, q } = question
    const key = sha256(JSON.stringify([id, lang, q])).toString('hex')
    const known = idsByText.get(q)
    if (known?.has(id) !== true) sample.add({ id: key, question })
    idsByText.set(q, (known ?? new Set()).add(id))
    ids.add(id)
    total += 1
  }
  const repeated = [...idsByText]
    .filter(([, { size }]) => size > 1)
    .map(([q, { size }]) => ({ q, passages: size }))
    .sort((a, b) => b.passages - a.passages || (a.q < b.q ? -1 : 1))
  return { total, passages: ids.size, repeated, sample: sample.items.map(({ question }) => question) }
}

async function servedIds({ folder, files }: Artifact, ids: ReadonlySet<string>, day: string) {
  const served = new Set<string>()
  for await (const passage of verifiedPassagesIn(folder, files['passages.jsonl']))
    if (ids.has(passage.source_id) && isServed(passage, day)) served.add(passage.source_id)
  return served
}

async function foundElsewhere(questions: readonly QueryExpansion[], context: AskRecordsContext) {
  const found: (SearchQuestionFigures['elsewhere'][number] | undefined)[] = []
  await askRecords(
    questions.map((question) => ({ text: question.q, filters: undefined, question })),
    { ...context, modes: [servedMode(context)], limit: 1 },
    (at, _mode, { passages: [first] }, { question: { id, q } }) => {
      if (first?.sourceId !== id) found[at] = { id, q, first: first?.sourceId ?? null }
    },
  )
  return found.filter((each) => each !== undefined)
}
