import { z } from 'zod'
import { queryFingerprint } from '#core/credentials/fingerprint.ts'
import type { RequestRow } from '#core/db/requests.ts'
import { logOddsShares } from '#core/domain/calibration.ts'
import { DECISION_PREDICTORS, decisionPredictors } from '#core/domain/decision.ts'
import type { FoundPassage } from '#core/domain/search.ts'
import { analyze } from '#core/index/analysis/analyzer.ts'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import type { ConfigOf } from '#core/platform/config.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { publicRequestId } from '#core/platform/ids.ts'
import { parsedJson } from '#core/platform/json.ts'
import { secretVariable } from '#jobs/platform/config.ts'
import { withAudit, type Operator } from '#operator/actions/operator.ts'
import type { Commands, Shown } from '#operator/command-line/command.ts'
import { option, text } from '#operator/command-line/inputs.ts'
import { table } from '#operator/command-line/table.ts'
import { change } from '#operator/command-line/verbs.ts'
import { UNSUPPORTED, decidedBecause, requestNamed } from './requests.ts'
import { RERUN_VARIABLES, deliveredRequest, readQuestion, rerunDeps, runAgain, searchTexts } from './rerun.ts'
import type { Rerun, RerunDeps, SearchTexts } from './rerun.ts'

const ASKING = {
  filters: option('<json>', 'filters of the request, as callers send them'),
  gateway: option('<url>', 'base URL of a gateway', text.default('http://127.0.0.1:8080')),
  keyEnv: option('<name>', 'variable that holds the key', text.default('EVIDENCE_API_KEY')),
}

export const commands: Commands = [
  change('explain [id]', 'say why a question is answered or not: what was searched, found, scored and weighed', {
    notes:
      'With an id, a delivered request is explained to whoever has its question; nothing is charged. Without one, the\n' +
      'question is asked at --gateway with the key of an entitlement of yours: admitted, charged and on record as any\n' +
      'other. The audit trail keeps the id of the request, and no text.',
    input: {
      id: text.optional(),
      questionFile: option('<path>', 'a file with the question; -: standard input', text),
      knowledgeBase: option('<slug>', 'what is asked, without an id'),
      ...ASKING,
    },
    variables: RERUN_VARIABLES,
    async run({ id, questionFile, knowledgeBase, filters, gateway, keyEnv }, session) {
      const question = await readQuestion(questionFile)
      session.progress.update('Asking', 0, 1)
      if ((id === undefined) === (knowledgeBase === undefined) || (id !== undefined && filters !== undefined))
        throw new OperatorError('Name a request by its id alone, or with --knowledge-base what is asked.')
      const asked = id ?? (await askedAt(gateway, secretVariable(keyEnv), question, { knowledgeBase, filters }))
      return await explainedTo(session, asked, question)
    },
  }),
  change('ask <slug> [question]', 'ask a question and say why it is answered or not: explain without an id', {
    notes:
      'Without the question, it is read from standard input, and no shell keeps it. It is admitted, charged and on record\n' +
      'as any other.',
    input: { slug: text, question: text.optional(), ...ASKING },
    variables: RERUN_VARIABLES,
    async run({ slug: knowledgeBase, question, filters, gateway, keyEnv }, session) {
      const query = question ?? (await readQuestion('-'))
      session.progress.update('Asking', 0, 1)
      const asked = await askedAt(gateway, secretVariable(keyEnv), query, { knowledgeBase, filters })
      return await explainedTo(session, asked, query)
    },
  }),
]

interface Session {
  readonly operator: Operator
  readonly config: ConfigOf<typeof RERUN_VARIABLES>
}

async function explainedTo({ operator, config }: Session, id: string, question: string): Promise<Shown> {
  const row = await requestNamed(operator.database, id)
  const explained = await explain(rerunDeps(operator.database, config), row, question)
  await withAudit(operator, 'request.explain', () => Promise.resolve([undefined, publicRequestId(row.id), {}]))
  return [explained, () => shownAs(explained)]
}

const faultSchema = z.object({ path: z.string(), message: z.string() })
/** A refusal has a request id besides. */
const askedSchema = z.union([
  z.object({ error: z.object({ code: z.string(), message: z.string(), details: z.array(faultSchema).default([]) }) }),
  z.object({ request_id: z.string() }),
])

/** Sends the question as a caller does. @returns the id of the request. @throws OperatorError where it is refused. */
export async function askedAt(
  gateway: string,
  key: string,
  query: string,
  { knowledgeBase, filters }: { readonly knowledgeBase: string | undefined; readonly filters?: string | undefined },
): Promise<string> {
  const body = { query, knowledge_base: knowledgeBase, filters: filters && parsedJson(filters) }
  if (filters !== undefined && body.filters === undefined)
    throw new OperatorError('--filters must be JSON, such as {"language": ["de"]}.')
  const reply = await fetch(gateway.replace(/\/*$/, '/v1/retrieve'), {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(PLATFORM_BOUNDS.hardDeadlineMs),
  }).catch((cause: unknown) => {
    throw new OperatorError(`No gateway answers at ${gateway}: name one, as --gateway http://HOST:PORT.`, { cause })
  })
  const { data: said } = askedSchema.safeParse(parsedJson(await reply.text()))
  if (said === undefined) throw new OperatorError(`What answers at ${gateway} is no gateway: name one with --gateway.`)
  if (!('error' in said)) return said.request_id
  const { code, message, details } = said.error
  const faults = details.map((fault) => `${fault.path} ${fault.message}.`)
  throw new OperatorError([`The gateway refused: ${code}: ${message}`, ...faults].join(' '))
}

/** What an operator sees of one decision. Texts are those of the corpus and of the rewriter; none is kept. */
export type Explained = Awaited<ReturnType<typeof explain>>

export async function explain(deps: RerunDeps, row: RequestRow, question: string) {
  const { outcome, key, version } = await deliveredRequest(deps, row)
  if (!queryFingerprint(key, question).equals(row.fingerprint))
    throw new OperatorError('This is not the question of that request: its fingerprint is another one.')
  const asked = await searchTexts(deps, row, version, question)
  const rerun = await runAgain(deps, row, asked, true)
  const { found, calibration, signal, decision, observedValue } = rerun
  return {
    request_id: publicRequestId(row.id),
    decision,
    because: becauseOf(rerun),
    signal,
    observed_value: observedValue,
    threshold: calibration.threshold,
    narrowed_to: { passages: found.allowed, filters: row.filters.request, in_force_on: row.in_force_on },
    unsupported_references: found.unsupported,
    searched: asked.queries.length === 0 ? ['the question'] : asked.queries,
    passages: passagesOf(rerun, asked),
    predictors: predictorsOf(rerun),
    stage_ms: outcome['stage_ms'],
  }
}

/** One sentence. */
function becauseOf({ found, list, decision, observedValue: value, calibration: { threshold } }: Rerun): string {
  const unsupported = found.unsupported
    .slice(0, 1)
    .map(({ text: named, reason }) => `"${named}", which the question names, is ${UNSUPPORTED[reason]}`)
  const known = { allowed: found.allowed, unsupported, listed: list.passages.length }
  const because = decidedBecause(known, { decision, value, threshold })
  return `It ${decision === 'answer' ? 'answers' : 'abstains'}, because ${because}.`
}

function passagesOf({ found, list, alone, served }: Rerun, { version, query, queries }: SearchTexts) {
  const scoreIn = (among: readonly FoundPassage[] | undefined, id: string): number | null =>
    among?.find(({ chunkId }) => chunkId === id)?.score ?? null
  const placeIn = (among: readonly FoundPassage[], id: string): number =>
    among.findIndex(({ chunkId }) => chunkId === id)
  const matched = matcherOf([query, ...queries])
  return found.passages.map(({ chunkId, document, citation, score, named, text: passage, ...of }) => ({
    chunk_id: chunkId,
    document: document.title,
    document_id: document.id,
    document_passages: of.documentPassages,
    label: citation.label,
    source: citation.sourceAnchor,
    score,
    by_words: version.embedding === null ? score : scoreIn(alone?.words.passages, chunkId),
    by_vector: scoreIn(alone?.vector.passages, chunkId),
    named,
    reader: list.read?.[placeIn(list.passages, chunkId)] ?? null,
    served: placeIn(served, chunkId) !== -1,
    matched_words: matched(passage, of.metadata.language),
    text: passage,
  }))
}

const WORDS = new Intl.Segmenter('und', { granularity: 'word' })

/** Words and what stands between them, in order. */
export function segmentsOf(passage: string): readonly string[] {
  return [...WORDS.segment(passage)].map(({ segment }) => segment)
}

/** @returns the words of a passage that a text of the search shares with it, as the passage writes them. */
function matcherOf(texts: readonly string[]): (passage: string, language: string) => readonly string[] {
  const termsIn = new Map<string, ReadonlySet<string>>()
  return (passage, language) => {
    const terms = termsIn.get(language) ?? new Set(texts.flatMap((each) => analyze(each, language)))
    termsIn.set(language, terms)
    return [...new Set(segmentsOf(passage))].filter((word) => analyze(word, language).some((term) => terms.has(term)))
  }
}

/** Each predictor of the deciding model, with the log-odds that it adds. */
function predictorsOf({ found, list, calibration }: Rerun) {
  return logOddsShares(calibration, DECISION_PREDICTORS, decisionPredictors(found.predictors, list.read))
}

function shownAs(explained: Explained): string {
  const { because, request_id, narrowed_to, unsupported_references, searched, passages, predictors } = explained
  return [
    because,
    `Request ${request_id}. The filters leave ${narrowed_to.passages} passages on ${narrowed_to.in_force_on}.`,
    `Searched: ${searched.join(' | ')}`,
    ...unsupported_references.map(({ text: name, reason }) => `Unsupported: ${name} (${reason})`),
    '',
    table(passages.map(rounded), 'label document score by_words by_vector named reader served', 'No passage.'),
    '',
    table(predictors.map(rounded), 'name=predictor value weight adds=adds_to_the_log-odds'),
    '',
    `Times in ms: ${Object.entries(explained.stage_ms ?? {})
      .map(([stage, ms]) => `${stage} ${String(ms)}`)
      .join(', ')}`,
  ].join('\n')
}

function rounded(row: object): Readonly<Record<string, unknown>> {
  const decimals = (value: unknown): unknown => (typeof value === 'number' ? Number(value.toFixed(3)) : value)
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, decimals(value)]))
}
