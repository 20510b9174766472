import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readTask, type Task } from '#operator/evaluate/task.ts'
import { findTaskFiles } from '#operator/evaluate/text-lines.ts'
import { writeDataSet } from '#test/jobs/evaluation/data-set.ts'

const CORPUS = { 'corpus.jsonl': [{ _id: 'r1', text: 'one' }] }
const QUERIES = { 'queries.jsonl': '{"_id":"q1","text":"first?"}\n{"id":2,"text":"second?"}\n' }
const QRELS = { 'qrels.tsv': 'query-id\tcorpus-id\tscore\nq1\tr1\t2\nq1\tr2\t0\n2\tr1\t1\n' }

async function taskOf(files: Parameters<typeof writeDataSet>[0], limitTo?: string): Promise<Task> {
  const folder = writeDataSet(files)
  return await readTask(
    await findTaskFiles({ folder, queries: undefined, qrels: undefined, answerability: undefined }),
    limitTo,
  )
}

test('questions are read with graded judgments, under either id name, with and without a header line', async () => {
  const { questions, notes } = await taskOf({ ...CORPUS, ...QUERIES, ...QRELS })
  expect(questions.map(({ id, text, qrels, answerable }) => ({ id, text, qrels: [...qrels], answerable }))).toEqual([
    { id: 'q1', text: 'first?', qrels: Object.entries({ r1: 2, r2: 0 }), answerable: undefined },
    { id: '2', text: 'second?', qrels: [['r1', 1]], answerable: undefined },
  ])
  expect(notes).toEqual([])
  expect(
    (await taskOf({ ...CORPUS, ...QUERIES, 'qrels.tsv': 'q1\tr1\t2\r\nq1\tr2\t0\r\n2\tr1\t1' })).questions,
  ).toEqual(questions)
  expect((await taskOf({ ...CORPUS, ...QUERIES, 'qrels.tsv': 'q1 0 r1 2\nq1 0 r2 0\n2 0 r1 1\n' })).questions).toEqual(
    questions,
  )
})

test('qrels are taken from qrels/test.tsv where the folder has no qrels.tsv', async () => {
  const { questions } = await taskOf({ ...CORPUS, ...QUERIES, 'qrels/test.tsv': 'q1\tr1\t1\n' })
  expect(questions.map(({ id }) => id)).toEqual(['q1'])
})

test('questions without record and label, or labelled partial, are skipped; unknown ids are counted', async () => {
  const { questions, notes } = await taskOf({
    ...CORPUS,
    'queries.jsonl': ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id, text: `${id}?` })),
    'qrels.tsv': 'a\tr1\t1\nb\tr1\t1\nc\tr1\t0\nd\tr1\t1\ngone\tr1\t1\n',
    'answerability.tsv':
      'query-id\tlabel\tchoice\na\tanswerable\tx\nb\tunanswerable\ty\nd\tPartial\ne\tunanswerable\nlost\tanswerable\n',
  })
  expect(questions.map(({ id, answerable, qrels }) => [id, answerable, qrels.size])).toEqual([
    ['a', true, 1],
    ['b', false, 0],
    ['e', false, 0],
  ])
  expect(notes).toEqual([
    'questions without a relevant record and without a label: not asked: 1',
    'questions labelled partial: not asked: 1',
    'questions judged or labelled, but not among the questions: 2',
  ])
})

test('a question longer than a caller may send is asked by its beginning', async () => {
  const long = { id: 'q1', text: '§'.repeat(4_001) }
  const queries = { 'queries.jsonl': [long, { id: '2', text: 'x' }] }
  const { questions, notes } = await taskOf({ ...CORPUS, ...QRELS, ...queries })
  expect(questions.map(({ text }) => text.length)).toEqual([4_000, 1])
  expect(notes).toEqual(['questions longer than 4000 characters: asked by their beginning: 1'])
})

test('a question knows the value that confines it and the day as of which it asks', async () => {
  const { questions } = await taskOf(
    { ...CORPUS, ...QRELS, 'queries.jsonl': [{ id: 'q1', text: 'x', metadata: { part: 7, as_of: '2020-02-29' } }] },
    'part',
  )
  expect(questions.map(({ limitedTo, asOf }) => [limitedTo, asOf])).toEqual([['7', '2020-02-29']])
})

const FAULTY: Readonly<Record<string, readonly [files: Parameters<typeof taskOf>[0], sentence: RegExp]>> = {
  'no corpus': [{ ...QUERIES, ...QRELS }, /corpus\.jsonl cannot be read: name a folder that holds a data set\.$/],
  'no questions': [
    { ...CORPUS, ...QRELS },
    /queries\.jsonl cannot be read: name the file of questions with --queries\.$/,
  ],
  'no judgments': [
    { ...CORPUS, ...QUERIES },
    /qrels\.tsv and .*test\.tsv cannot be read: name the judgments with --qrels\.$/,
  ],
  'a question that is no JSON': [
    { ...CORPUS, ...QRELS, 'queries.jsonl': '{"id":"q1","text":"x"}\n\n{"id":' },
    /^queries\.jsonl, line 3, is not a JSON object/,
  ],
  'a question without words': [
    { ...CORPUS, ...QRELS, 'queries.jsonl': [{ id: 'q1', text: ' ' }] },
    /^queries\.jsonl, line 1, is not/,
  ],
  'an id that comes twice': [
    { ...CORPUS, ...QRELS, 'queries.jsonl': '{"id":"q1","text":"x"}\n{"_id":"q1","text":"y"}\n' },
    /^queries\.jsonl, line 2, repeats the id/,
  ],
  'a judgment without a score': [
    { ...CORPUS, ...QUERIES, 'qrels.tsv': 'q1\tr1\t1\nq1\tr2\n' },
    /^qrels\.tsv, line 2, is not a query id, a corpus id and a whole number/,
  ],
  'a pair judged twice': [
    { ...CORPUS, ...QUERIES, 'qrels.tsv': 'q1\tr1\t1\nq1\tr1\t0\n' },
    /^qrels\.tsv, line 2, judges a pair again/,
  ],
  'an unknown label': [
    { ...CORPUS, ...QUERIES, ...QRELS, 'answerability.tsv': 'q1\tanswerable\nq2\tmaybe\n' },
    /^answerability\.tsv, line 2, is not a query id and one of/,
  ],
  'files that do not belong together': [
    { ...CORPUS, ...QUERIES, 'qrels.tsv': 'x\tr1\t1\n' },
    /^No question of queries\.jsonl has a relevant record in qrels\.tsv/,
  ],
}
test.each(Object.entries(FAULTY))('%s is told in one sentence', async (_, [files, sentence]) => {
  await expect(taskOf(files)).rejects.toMatchObject({ name: 'OperatorError', message: expect.stringMatching(sentence) })
})

test('with --limit-to every asked question must have the field', async () => {
  const lacking = { id: '2', text: 'y', metadata: {} }
  const queries = { 'queries.jsonl': [{ id: 'q1', text: 'x', metadata: { part: 'a' } }, lacking] }
  await expect(taskOf({ ...CORPUS, ...QRELS, ...queries }, 'part')).rejects.toThrow(
    /^queries\.jsonl, line 2, lacks the metadata field/,
  )
})

test('a named file that is missing is told, whatever the folder holds', async () => {
  const folder = writeDataSet({ ...CORPUS, ...QUERIES, ...QRELS })
  const named = { folder, queries: undefined, qrels: undefined, answerability: join(folder, 'labels.tsv') }
  await expect(findTaskFiles(named)).rejects.toThrow(
    /labels\.tsv cannot be read: name the labels with --answerability\.$/,
  )
})
