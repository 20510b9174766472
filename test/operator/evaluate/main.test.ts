import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { modelFlags, writeDataSet } from '#test/jobs/evaluation/data-set.ts'
import { publishedFigures } from '#test/jobs/evaluation/published-figures.ts'
import { startEmbeddingEndpoint, vectorsByWords } from '#test/support/embedding-endpoint.ts'
import { until } from '#test/support/until.ts'
import { DUTIES, TOPICS, left, start } from './command.ts'

const endpoint = await startEmbeddingEndpoint(vectorsByWords())
afterAll(() => endpoint.stop())

/** Fifty rules of ten chapters; half of the questions ask for what no rule says. */
function rulebook(): Parameters<typeof writeDataSet>[0] {
  const rules = TOPICS.flatMap((topic, chapter) =>
    DUTIES.map((duty, at) => ({
      _id: `${topic}-${duty}`,
      title: `Chapter ${chapter + 1}`,
      text:
        `${chapter + 1}.${at + 1} The harbour master sets out ${duty} ` +
        `for every ${topic} within the harbour limits.`,
      metadata: { document: `chapter-${chapter}`, chapter: chapter + 1 },
    })),
  )
  const asked = rules.map(({ _id, text, metadata }) => ({
    _id: `q-${_id}`,
    text: `Who sets out ${text.split(' ').slice(5, 9).join(' ')}?`,
    metadata,
  }))
  const strangers = TOPICS.flatMap((_, at) =>
    ['volcano', 'orchestra', 'pharmacy'].map((word) => ({
      _id: `x-${word}-${at}`,
      text: `Which ${word} licence ${at} lapses?`,
      metadata: { chapter: at + 1 },
    })),
  )
  const qrels = rules.map(({ _id }) => `q-${_id}\t${_id}\t1\n`).join('')
  const labels = [
    ...asked.map(({ _id }) => `${_id}\tanswerable\n`),
    ...strangers.map(({ _id }) => `${_id}\tunanswerable\n`),
  ].join('')
  return {
    'corpus.jsonl': rules,
    'queries.jsonl': [...asked, ...strangers],
    'qrels/test.tsv': `query-id\tcorpus-id\tscore\n${qrels}`,
    'answerability.tsv': labels,
  }
}

test('a data set is built, embedded, searched and judged without Postgres or Redis, and leaves nothing behind', async () => {
  const folder = writeDataSet(rulebook())
  const outputs = ['--json', join(folder, 'out', 'figures.json'), '--html', join(folder, 'out', 'page.html')]
  const { code, stdout, stderr } = await start(folder, [folder, ...modelFlags(endpoint.baseUrl), ...outputs], '').ended
  expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.not.stringContaining('failed') })
  expect(stdout).toMatch(/50 passages of 10 documents; 80 questions asked, 50 of them judged for ranking/)
  const figures = publishedFigures.parse(JSON.parse(readFileSync(join(folder, 'out', 'figures.json'), 'utf8')))
  expect(figures).toMatchObject({ passages: 50, queries: 80, abstention: { target_risk: 0.05, folds: 5 } })
  expect(figures.about).toMatchObject({ settings: expect.arrayContaining([folder]), model: expect.any(String) })
  expect(Object.keys(figures.per_question)).toHaveLength(50)
  for (const system of Object.values(figures.systems)) expect(system['recall@10']).toBeGreaterThan(0.9)
  expect(figures.abstention?.auroc).toBeGreaterThan(0.9)
  expect(figures.latency_ms.p99).toBeGreaterThanOrEqual(figures.latency_ms.p50)
  for (const recall of Object.values(figures.filtered_recall)) expect(recall).toBeGreaterThanOrEqual(0.98)
  expect(readFileSync(join(folder, 'out', 'page.html'), 'utf8')).toMatch(/^<!doctype html>/)
  expect(left(folder)).toEqual([])
  const texts = new Set(endpoint.requests.flatMap(({ input }) => input))
  expect([...texts].filter((text) => text.startsWith('tell: Chapter'))).toHaveLength(50)
  const questions = readFileSync(join(folder, 'queries.jsonl'), 'utf8').trimEnd().split('\n')
  for (const line of questions)
    expect(texts).toContain(`ask: ${z.object({ text: z.string() }).parse(JSON.parse(line)).text}`)
})

test('with --limit-to nothing outside a question’s own group is found', async () => {
  const folder = writeDataSet(rulebook())
  const limited = ['--limit-to', 'chapter', '--json', join(folder, 'figures.json')]
  const { code } = await start(folder, [folder, ...modelFlags(endpoint.baseUrl), ...limited]).ended
  const { systems } = publishedFigures.parse(JSON.parse(readFileSync(join(folder, 'figures.json'), 'utf8')))
  // Each group holds five records, so that all of them come.
  expect({ code, recall: systems.dense['recall@5'] }).toEqual({ code: 0, recall: 1 })
})

/** Questions about the same rules in other words. */
function fitSet(count: number): Parameters<typeof writeDataSet>[0] {
  const rules = TOPICS.flatMap((topic) => DUTIES.map((duty) => ({ topic, duty }))).slice(0, count)
  return {
    'fit.jsonl': rules.map(({ topic, duty }, at) => ({
      _id: `f-${at}`,
      text: `Which ${duty} does the harbour master ask of a ${topic}?`,
      metadata: { chapter: 1 },
    })),
    'fit.tsv': rules.map(({ topic, duty }, at) => `f-${at}\t${topic}-${duty}\t1\n`).join(''),
  }
}

test('with --fit-queries, the ranking is fitted to other questions before any is asked', async () => {
  const folder = writeDataSet({ ...rulebook(), ...fitSet(50) })
  const fit = ['--fit-queries', join(folder, 'fit.jsonl'), '--fit-qrels', join(folder, 'fit.tsv')]
  const { code, stdout, stderr } = await start(folder, [folder, ...modelFlags(endpoint.baseUrl), ...fit]).ended
  expect({ code, stderr }).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/note: ranking fitted to 50 questions: vectors weigh [\d.]+\n/),
  })
  expect(stdout).toMatch(/80 questions asked, 50 of them judged for ranking/)
})

test.each([
  [
    'too few',
    20,
    'fit.jsonl',
    'fit.tsv',
    /^fit\.jsonl has 20 judged questions, and a ranking is fitted to at least 50/,
  ],
  ['asked too', 50, 'queries.jsonl', 'qrels/test.tsv', /^50 questions of queries\.jsonl are asked too, so their/],
])('questions to fit to that are %s are refused', async (_, count, queries, qrels, sentence) => {
  const folder = writeDataSet({ ...rulebook(), ...fitSet(count) })
  const fit = ['--fit-queries', join(folder, queries), '--fit-qrels', join(folder, qrels)]
  const { code, stderr } = await start(folder, [folder, ...modelFlags(endpoint.baseUrl), ...fit]).ended
  expect({ code, last: stderr.trimEnd().split('\n').at(-1) }).toEqual({
    code: 1,
    last: expect.stringMatching(sentence),
  })
})

test('without a model, words alone rank, and there is no weight of vectors to fit', async () => {
  const folder = writeDataSet({ ...rulebook(), ...fitSet(50) })
  const { code, stdout } = await start(folder, [folder]).ended
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ +lexical$/m) })
  expect(stdout).not.toContain('recall@10 of the vectors')
  const fit = ['--fit-queries', join(folder, 'fit.jsonl'), '--fit-qrels', join(folder, 'fit.tsv')]
  for (const none of [[], ['--embedding', 'none']])
    expect(await start(folder, [folder, ...none, ...fit]).ended).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^--fit-queries fits the weight of the vectors, and words alone rank here: /m),
    })
})

test('an interruption stops the search node, removes the temporary files and says so', async () => {
  const folder = writeDataSet(rulebook())
  const { child, ended, said } = start(folder, [folder])
  await until('it verifies', () => said().includes('verify'))
  child.kill('SIGINT')
  expect(await ended).toMatchObject({
    code: 130,
    stdout: '',
    stderr: expect.stringMatching(/Stopped; the temporary files are removed\.\n$/),
  })
  expect(left(folder)).toEqual([])
})

test.each([
  [
    'blank records alone',
    { 'corpus.jsonl': [{ id: 'a', text: ' ' }] },
    /^corpus\.jsonl holds no record that can be asked for \(text is blank\): correct it and evaluate again\.$/,
  ],
  ['a judgment that is none', { 'qrels/test.tsv': 'q-x\tr\t1\nq-x\tr\n' }, /^test\.tsv, line 2, is not a query id/],
])('%s: one sentence, exit code 1, and nothing left', async (_name, files, sentence) => {
  const folder = writeDataSet({ ...rulebook(), ...files })
  const { code, stderr } = await start(folder, [folder]).ended
  expect({ code, last: stderr.trimEnd().split('\n').at(-1) }).toEqual({
    code: 1,
    last: expect.stringMatching(sentence),
  })
  expect(left(folder)).toEqual([])
})

test('records that are skipped and judged records that are not held are counted', async () => {
  const files = rulebook()
  const held = (files['corpus.jsonl'] as readonly object[]).slice(1)
  const corpus = [...held, ...held.slice(-1)]
  const folder = writeDataSet({ ...files, 'corpus.jsonl': corpus })
  const { code, stderr } = await start(folder, [folder]).ended
  expect(code).toBe(0)
  expect(stderr).toContain(
    'note: records of corpus.jsonl skipped: 1 (1 same id and text as another record; the first in line 50)\n',
  )
  expect(stderr).toContain('note: relevant records that the corpus does not hold, counted as not found: 1 of 50\n')
})

test('arguments that are not understood end with exit code 2', async () => {
  const folder = writeDataSet({})
  const { code, stderr } = await start(folder, [folder, '--target-risk', '7']).ended
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('must be a share between 0 and 1') })
})
