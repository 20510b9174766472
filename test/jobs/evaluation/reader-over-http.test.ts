import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { words } from '#core/index/analysis/words.ts'
import { evaluateDataSet } from '#operator/evaluate/evaluation.ts'
import { evaluateFlags } from '#operator/evaluate/flags.ts'
import { evaluateFieldQuestions, type AskedCorpora } from '#operator/evaluate/field-questions/evaluation.ts'
import { renderText } from '#operator/command-line/sections.ts'
import { OVERLAP, readerCalls, rerankCalls, rewriterCalls, startReaderEndpoint } from '#test/support/reader-endpoint.ts'
import { folderOfFile } from '#test/support/folder.ts'
import { writeDataSet } from './data-set.ts'

const TOPICS = ['anchorage', 'ballast', 'cargo', 'dredging', 'embargo', 'ferry', 'grounding', 'helmsman']
const DUTIES = ['fees', 'inspection', 'insurance', 'lighting', 'records', 'towage']
const RULES = TOPICS.flatMap((topic, chapter) =>
  DUTIES.map((duty) => ({
    id: `${topic}-${duty}`,
    title: `Chapter ${chapter + 1}`,
    text: `The harbour master sets out ${duty} for every ${topic} within the harbour limits.`,
    metadata: { document: `chapter-${chapter}` },
  })),
)
/** What is asked of a rule, and the same about what no rule says; `text` is that of a data set. */
const QUESTIONS = RULES.flatMap(({ id, text }, at) => {
  const topic = text.split(' ').slice(3, 9).join(' ')
  const held = { id: `q-${id}`, text: `Who ${topic}?`, kind: 'plain', relevant: [id], label: 'answerable' }
  const missing = {
    id: `x-${id}`,
    text: `Who ${topic.replace(/for every \w+/, `for any volcano or orchestra ${at}`)}?`,
  }
  return [held, { ...missing, kind: 'near-miss', relevant: [], label: 'unanswerable' }]
})

const folder = writeDataSet(
  {
    'corpus.jsonl': RULES,
    'queries.jsonl': QUESTIONS.map(({ id, text }) => ({ id, text })),
    'qrels.tsv': QUESTIONS.flatMap(({ id, relevant: [rule] }) => (rule ? [`${id}\t${rule}\t1\n`] : [])).join(''),
    'answerability.tsv': QUESTIONS.map(({ id, label }) => `${id}\t${label}\n`).join(''),
    'field.jsonl': QUESTIONS.map(({ text: question, ...rest }) => ({ ...rest, question })),
    'few.jsonl': QUESTIONS.slice(0, 20).map(({ text: question, ...rest }) => ({ ...rest, question })),
    'mapping.json': JSON.stringify({
      format: 'jsonl',
      fields: {
        document_key: '{metadata.document}',
        title: 'Harbour Act',
        authority: 'Harbour Authority',
        canonical_url: 'https://harbour.invalid/{id}',
        published_at: '2000-01-01',
        effective_at: '2000-01-01',
        citation_label: 'Harbour Act, {id}',
        reference: 'Harbour Act {id}',
        language: 'en',
        jurisdiction: 'ZZ',
        verification_status: 'source-declared',
      },
    }),
  },
  folderOfFile(),
)

const OUTPUT = { progress: () => undefined, note: () => undefined }
const NO_SIGNAL = new AbortController().signal
const OPTIONS = ['--embedding', 'none', '--reader-cache']

async function evaluated(...args: readonly string[]): Promise<Awaited<ReturnType<typeof evaluateDataSet>>> {
  const flags = evaluateFlags([folder, ...OPTIONS, join(folder, 'cache.jsonl'), ...args])
  if (!('folder' in flags)) throw new Error('no data set is named')
  return await evaluateDataSet(flags, OUTPUT, NO_SIGNAL)
}

async function asked(file: string, ...args: readonly string[]): Promise<AskedCorpora> {
  const sets = ['--corpus', folder, '--questions', join(folder, file)]
  const flags = evaluateFlags([...sets, ...OPTIONS, join(folder, 'field-cache.jsonl'), ...args])
  if (!('sets' in flags)) throw new Error('no field questions are named')
  return await evaluateFieldQuestions(flags, OUTPUT, NO_SIGNAL)
}

/** Whether a question is answered, by its kind: [answered, asked]. */
function answeredOf({ outcomes }: AskedCorpora, kind: string): readonly [number, number] {
  const ofKind = outcomes.filter(({ question }) => question.kind === kind)
  return [ofKind.filter(({ decision }) => decision === 'answer').length, ofKind.length]
}

/** Share of the query's words that a document holds, on a scale of its own. */
function sharesOf(query: string, documents: readonly string[]): readonly number[] {
  return documents.map((text) => {
    const held = new Set(words(text))
    return 7 * words(query).filter((word) => held.has(word)).length - 3 * words(query).length
  })
}

test('a data set is rewritten, and read by a cross-encoder whose decision is fitted; a repetition asks nothing', async () => {
  const server = await startReaderEndpoint(sharesOf)
  const reader = ['--reader', server.baseUrl, '--reader-model', 'shares', '--reader-kind', 'cross-encoder']
  const rewriter = ['--rewriter', server.baseUrl, '--rewriter-model', 'counsel']
  const models = [...reader, ...rewriter, '--rewriter-cache', join(folder, 'rewritings.jsonl')]
  const first = await evaluated(...models)
  expect(first.report.reader).toMatchObject({ model: 'shares', questions: 96, answerable: 48, is_fitted: true })
  expect(first.report.reader?.answered_answerable).toBeGreaterThan(43)
  expect(first.report.reader?.answered_unanswerable).toBeLessThan(3)
  expect(first.report.rewriter).toMatchObject({ questions: 96, answerable: 48, answered_answerable: 48 })
  expect(renderText(first.sections)).toMatch(/With the reader shares, \d+ of 48 .* each was scored by a model/)
  expect(renderText(first.sections)).toContain('With the rewriter counsel, 48 of 48 answerable')
  const calls = await rerankCalls(server.baseUrl, '')
  const again = await evaluated(...models)
  expect([again.report.reader, again.report.rewriter]).toEqual([first.report.reader, first.report.rewriter])
  expect(await rerankCalls(server.baseUrl, '')).toHaveLength(calls.length)
  for (const callsOf of [rerankCalls, rewriterCalls]) expect(await callsOf(server.baseUrl, 'volcano')).toHaveLength(48)
  await server.stop()
})

test('field questions are decided by a chat model over HTTP, and a repetition asks nothing', async () => {
  const server = await startReaderEndpoint()
  const reader = ['--reader', server.baseUrl, '--reader-model', OVERLAP]
  const first = await asked('few.jsonl', ...reader)
  expect([answeredOf(first, 'plain'), answeredOf(first, 'near-miss')]).toEqual([
    [10, 10],
    [0, 10],
  ])
  expect(first.outcomes.every(({ read }) => read?.length === 5)).toBe(true)
  expect(await readerCalls(server.baseUrl, 'volcano')).toHaveLength(10)
  await server.stop()
  expect((await asked('few.jsonl', ...reader)).outcomes).toEqual(first.outcomes)
  expect(readFileSync(join(folder, 'field-cache.jsonl'), 'utf8')).not.toContain('volcano')
})

test('a cross-encoder of field questions is fitted to their tuning half, and refused where that is too small', async () => {
  const server = await startReaderEndpoint(sharesOf)
  const reader = ['--reader', server.baseUrl, '--reader-model', 'shares', '--reader-kind', 'cross-encoder']
  const fitted = await asked('field.jsonl', ...reader)
  await expect(asked('few.jsonl', ...reader)).rejects.toThrow('A cross-encoder has no default decision')
  await server.stop()
  expect(answeredOf(fitted, 'plain')[0]).toBeGreaterThan(43)
  expect(answeredOf(fitted, 'near-miss')[0]).toBeLessThan(3)
})

test('recorded scores of a data set are looked up by the ids of its questions', async () => {
  const file = join(folder, 'scores.jsonl')
  const lines = QUESTIONS.map(({ id, relevant }) => ({
    id,
    passages: RULES.map((rule) => ({ id: rule.id, score: relevant.includes(rule.id) ? 90 : 10 })),
  }))
  writeFileSync(
    file,
    lines
      .slice(2)
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(''),
  )
  const { report } = await evaluated('--reader', file)
  expect(report.reader).toMatchObject({ questions: 94, answerable: 47, answered_unanswerable: 0 })
})
