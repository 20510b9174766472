import { createReadStream, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { passageRecordSchema } from '#core/index/passages/record.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { parseQuestions } from '#jobs/evaluation/questions.ts'
import { segmenter } from '#law/import/parts/segmenter.ts'
import { curlOf } from '#operator/console/page.ts'
import type { DemoCorpus } from './corpus.ts'
import { z } from 'zod'

interface ShowInput {
  readonly baseUrl: string
  /** The caller's key, for the shell commands that repeat an exchange. */
  readonly apiKey: string
  /** The demo's own key, so that its requests do not use up the caller's allowance. */
  readonly ownKey: string
  /** Of an entitlement without assistance by a chat model; undefined: there is none to compare. */
  readonly unassistedKey: string | undefined
  readonly corpus: DemoCorpus
  /** Sentences of passages, asked where there is no question set. */
  readonly sampleTexts: readonly string[]
  /** Asked instead of the built-in questions. */
  readonly queries: readonly string[]
  readonly facets: { readonly languages: readonly string[]; readonly jurisdictions: readonly string[] }
}

/** Questions on topics that no rulebook covers. */
const OFF_TOPIC = [
  'How long should a sourdough loaf rest before it goes into the oven?',
  'Which chord follows the tonic in a twelve-bar blues?',
  'At what altitude do migrating cranes usually fly over the Alps?',
  'Zwetschgenkuchen Backzeit Umluft?',
  'xylophone glockenspiel marimba vibraphone',
]
const BUILT_IN_FIRST = {
  answer: 'How many days does a retail client have to cancel a distance contract during the cooling-off period?',
  abstain: 'How much may an unsophisticated backer pledge to a crowdfunding campaign in one year?',
}
/** About the built-in rulebook, in words that it does not use. */
const EVERYDAY = 'I changed my mind about something I bought over the phone. How long have I got?'
const CANDIDATES_MAX = 5

/**
 * Asks the gateway and prints each exchange with the shell command that repeats it. Returns what a caller learns from
 * the ready file: a question with an answer, one with an abstention, and values of filters that are refused.
 */
export async function showExchanges(input: ShowInput, print: (text: string) => void) {
  const body = (query: string, filters?: RetrieveBody['filters']): RetrieveBody => ({
    query,
    knowledge_base: input.corpus.slug,
    ...(filters === undefined ? {} : { filters }),
  })
  const ask = (query: string, filters?: RetrieveBody['filters'], key = input.ownKey): Promise<Exchanged> =>
    exchange(input.baseUrl, key, body(query, filters))
  const questions = candidates(input.corpus)
  const answerQuery = await firstDecided(
    'answer',
    [...input.queries, ...questions.answerable, ...input.sampleTexts].slice(0, CANDIDATES_MAX + input.queries.length),
    ask,
  )
  const abstainQuery = await firstDecided(
    'abstain',
    [...questions.unanswerable, ...OFF_TOPIC].slice(0, CANDIDATES_MAX),
    ask,
  )
  const forbidden = {
    language: ['fr', 'de', 'en'].find((code) => !input.facets.languages.includes(code)) ?? 'la',
    jurisdiction: ['GB', 'ZZ'].find((code) => !input.facets.jurisdictions.includes(code)) ?? 'QQ',
  }

  async function show(title: string, query: string, filters?: RetrieveBody['filters']): Promise<void> {
    const line = curlOf(input.baseUrl, input.apiKey, body(query, filters))
    print(`${title}\n   ${line}\n${describeExchange(await ask(query, filters))}`)
  }
  for (const query of input.queries) await show(`You asked: ${query}`, query)
  const answered = answerQuery ?? input.queries[0] ?? questions.answerable[0]
  if (answered === undefined || abstainQuery === undefined)
    throw new OperatorError(
      'No question of the corpus was decided as expected: look at the evaluation with "operator review show".',
    )
  if (input.queries.length === 0) await show('1. An answer', answered)
  await show('2. An abstention', abstainQuery)
  await show('3. A refused filter', answered, { jurisdiction: [forbidden.jurisdiction] })
  if (input.unassistedKey !== undefined) {
    print(`4. An everyday question, without assistance: ${EVERYDAY}`)
    print(describeExchange(await ask(EVERYDAY, undefined, input.unassistedKey)))
    await show('5. The same, with the rewriter and the reader', EVERYDAY)
  }
  return {
    answer_query: answered,
    abstain_query: abstainQuery,
    forbidden_language: forbidden.language,
    forbidden_jurisdiction: forbidden.jurisdiction,
  }
}

/** Returns the questions of the question set, or none without one. */
function candidates(corpus: DemoCorpus) {
  if (corpus.questionsFile === undefined) return { answerable: [], unanswerable: [] }
  const questions = parseQuestions(readFileSync(corpus.questionsFile, 'utf8'))
  const pick = (first: string | undefined, wanted: boolean): readonly string[] => {
    const texts = questions.filter(({ relevant }) => relevant.length > 0 === wanted).map(({ text }) => text)
    return first !== undefined && texts.includes(first) ? [first, ...texts.filter((text) => text !== first)] : texts
  }
  return { answerable: pick(BUILT_IN_FIRST.answer, true), unanswerable: pick(BUILT_IN_FIRST.abstain, false) }
}

const SAMPLE_CHARACTERS = 300
const SAMPLE_LINES = 200
/** No mark, footnote or heading. */
const SENTENCE = /^\p{L}.{79,}/su

/** Returns sentences of some provisions of an artifact, before beginnings of other passages. */
export async function firstTexts(passagesFile: string): Promise<readonly string[]> {
  const [ofProvisions, others]: [string[], string[]] = [[], []]
  let line = 0
  for await (const text of createInterface({ input: createReadStream(passagesFile) })) {
    if (line++ >= SAMPLE_LINES || ofProvisions.length >= CANDIDATES_MAX) break
    const passage = passageRecordSchema.parse(JSON.parse(text))
    if (passage.in_force_to !== null || passage.metadata.verification_status !== 'verified') continue
    const sentences = Array.from(segmenter('und', 'sentence').segment(passage.text), ({ segment }) => segment.trim())
    const sentence = sentences.find((each) => SENTENCE.test(each))
    const isOfProvision = sentence !== undefined && passage.references.some((each) => each.includes('#'))
    const sample = [...(sentence ?? passage.text)].slice(0, SAMPLE_CHARACTERS).join('').replaceAll(/\s+/gu, ' ')
    ;(isOfProvision ? ofProvisions : others).push(sample)
  }
  return [...ofProvisions, ...others].slice(0, CANDIDATES_MAX)
}

const replySchema = z.object({
  results: z
    .array(
      z.object({
        text: z.string(),
        score: z.number(),
        citation: z.object({ label: z.string(), source_anchor: z.string() }),
      }),
    )
    .optional(),
  abstention: z
    .object({
      decision: z.enum(['answer', 'abstain']),
      signal: z.string(),
      threshold: z.number(),
      observed_value: z.number(),
    })
    .optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
})

interface RetrieveBody {
  readonly query: string
  readonly knowledge_base: string
  readonly filters?: { readonly language?: readonly string[]; readonly jurisdiction?: readonly string[] }
}

interface Exchanged {
  readonly status: number
  readonly reply: z.infer<typeof replySchema>
}

const TIMEOUT_MS = 20_000

async function exchange(baseUrl: string, key: string, body: RetrieveBody): Promise<Exchanged> {
  const response = await fetch(`${baseUrl}/v1/retrieve`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  return { status: response.status, reply: replySchema.parse(await response.json()) }
}

/** Returns the first candidate with this decision; undefined when there is none. */
async function firstDecided(
  decision: 'answer' | 'abstain',
  queries: readonly string[],
  ask: (query: string) => Promise<Exchanged>,
): Promise<string | undefined> {
  for (const query of queries) {
    const { reply } = await ask(query)
    if (reply.abstention?.decision === decision) return query
  }
  return undefined
}

const TEXT_SHOWN = 240

function describeExchange({ status, reply }: Exchanged): string {
  if (reply.error !== undefined) return `   → ${status} ${reply.error.code}: ${reply.error.message}`
  const { abstention, results = [] } = reply
  if (abstention === undefined) return `   → ${status}`
  const relation = abstention.observed_value >= abstention.threshold ? '≥' : '<'
  const head =
    `   → ${status} ${abstention.decision}: ${abstention.signal} ` +
    `${abstention.observed_value.toFixed(3)} ${relation} threshold ${abstention.threshold.toFixed(3)}, ` +
    `${results.length} passage(s)`
  const passages = results.map(
    ({ text, score, citation }, index) =>
      `     ${index + 1}. ${citation.label}  (${score.toFixed(3)})  ${citation.source_anchor}\n` +
      `        ${shorten(text)}`,
  )
  return [head, ...passages].join('\n')
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/gu, ' ')
  return line.length <= TEXT_SHOWN ? line : `${line.slice(0, TEXT_SHOWN)}…`
}
