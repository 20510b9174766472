import { expect, test, vi } from 'vitest'
import { usageExitCode } from '#operator/evaluate/flags.ts'
import { naturalFlags } from '#operator/evaluate/natural/flags.ts'

function refusal(args: readonly string[]): { readonly code: number | undefined; readonly said: string } {
  const said: string[] = []
  const write = vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0)
  try {
    naturalFlags(args)
    throw new Error('the arguments were accepted')
  } catch (error) {
    return { code: usageExitCode(error), said: said.join('') }
  } finally {
    write.mockRestore()
  }
}

test('questions and mapping belong to the corpus before them', () => {
  const { sets } = naturalFlags([
    '--corpus',
    'eu',
    '--questions',
    'a.jsonl',
    '--questions',
    'b.jsonl',
    '--corpus',
    'own',
    '--mapping',
    'own.json',
    '--questions',
    'c.jsonl',
    '--json',
    'out.json',
  ])
  expect(sets).toEqual([
    { corpus: 'eu', questions: ['a.jsonl', 'b.jsonl'], tuning: [], mapping: undefined },
    { corpus: 'own', questions: ['c.jsonl'], tuning: [], mapping: 'own.json' },
  ])
})

test('with one corpus, the order of the options has no meaning', () => {
  const expected = [{ corpus: 'eu', questions: ['a.jsonl'], tuning: [], mapping: 'm.json' }]
  expect(naturalFlags(['--questions', 'a.jsonl', '--mapping', 'm.json', '--corpus', 'eu']).sets).toEqual(expected)
  expect(naturalFlags(['--corpus', 'eu', '--mapping', 'm.json', '--questions', 'a.jsonl']).sets).toEqual(expected)
})

test('search questions belong to the corpus before them, in one file', () => {
  const args = ['--corpus', 'eu', '--questions', 'a', '--search-questions', 's', '--corpus', 'de', '--questions', 'b']
  const { sets } = naturalFlags(args)
  expect(sets.map(({ searchQuestions }) => searchQuestions)).toEqual(['s', undefined])
  const two = refusal([...args, '--search-questions', 't', '--search-questions', 'u'])
  expect(two).toMatchObject({ code: 2, said: expect.stringMatching(/name one --search-questions for de/) })
})

test.each([
  ['no corpus', ['--questions', 'a'], /--corpus <folder>/],
  ['no questions', ['--corpus', 'eu'], /--questions <file>/],
  ['a corpus without questions', ['--corpus', 'eu', '--questions', 'a', '--corpus', 'de'], /the questions for de with/],
  [
    'questions before the first of two corpora',
    ['--questions', 'a', '--corpus', 'eu', '--corpus', 'de', '--questions', 'b'],
    /after the --corpus it is for/,
  ],
  [
    'two mappings of one corpus',
    ['--corpus', 'eu', '--questions', 'a', '--mapping', 'm', '--mapping', 'n'],
    /name one --mapping for eu/,
  ],
])('%s: is not understood, with exit code 2', (_, args, sentence) => {
  expect(refusal(args)).toEqual({ code: 2, said: expect.stringMatching(sentence) })
})
