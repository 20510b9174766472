import { createReadStream, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { passageRecordSchema } from '#core/index/passages/record.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { parseQuestions } from '#jobs/evaluation/questions.ts'
import type { DemoCorpus } from './corpus.ts'
import { curlLine, describeExchange, exchange, firstDecided } from './exchanges.ts'
import type { Exchanged, RetrieveBody } from './exchanges.ts'

export interface ShowInput {
  readonly baseUrl: string
  /** The caller's key, for the shell commands that repeat an exchange. */
  readonly apiKey: string
  /** The demo's own key, so that its requests do not use up the caller's allowance. */
  readonly ownKey: string
  readonly corpus: DemoCorpus
  /** Beginnings of passages, asked where there is no question set. */
  readonly sampleTexts: readonly string[]
  /** Asked instead of the built-in questions. */
  readonly queries: readonly string[]
  readonly facets: { readonly languages: readonly string[]; readonly jurisdictions: readonly string[] }
}

export interface Shown {
  readonly answerQuery: string
  readonly abstainQuery: string
  readonly forbiddenLanguage: string
  readonly forbiddenJurisdiction: string
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
const CANDIDATES_MAX = 5

/**
 * Asks the gateway and prints each exchange with the shell command that repeats it. Returns one question with an answer
 * and one with an abstention.
 */
export async function showExchanges(input: ShowInput, print: (text: string) => void): Promise<Shown> {
  const body = (query: string, filters?: RetrieveBody['filters']): RetrieveBody => ({
    query,
    knowledge_base: input.corpus.slug,
    ...(filters === undefined ? {} : { filters }),
  })
  const ask = (query: string, filters?: RetrieveBody['filters']): Promise<Exchanged> =>
    exchange(input.baseUrl, input.ownKey, body(query, filters))
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
    const line = curlLine(input.baseUrl, input.apiKey, body(query, filters))
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
  return {
    answerQuery: answered,
    abstainQuery,
    forbiddenLanguage: forbidden.language,
    forbiddenJurisdiction: forbidden.jurisdiction,
  }
}

/** Returns the questions of the question set, or none without one. */
function candidates(corpus: DemoCorpus): {
  readonly answerable: readonly string[]
  readonly unanswerable: readonly string[]
} {
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

/** Returns the beginnings of some passages of an artifact, of long ones first: a short one makes a poor question. */
export async function firstTexts(passagesFile: string): Promise<readonly string[]> {
  const [long, short]: [string[], string[]] = [[], []]
  let line = 0
  for await (const text of createInterface({ input: createReadStream(passagesFile) })) {
    if (line++ >= SAMPLE_LINES || long.length >= CANDIDATES_MAX) break
    const passage = passageRecordSchema.parse(JSON.parse(text))
    if (passage.in_force_to !== null || passage.metadata.verification_status !== 'verified') continue
    const texts = passage.text.length >= SAMPLE_CHARACTERS ? long : short
    texts.push([...passage.text].slice(0, SAMPLE_CHARACTERS).join('').replaceAll(/\s+/gu, ' '))
  }
  return [...long, ...short].slice(0, CANDIDATES_MAX)
}
