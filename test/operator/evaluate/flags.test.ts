import { expect, test, vi } from 'vitest'
import { evaluateFlags, usageExitCode } from '#operator/evaluate/flags.ts'

test('the folder alone is enough; the target risk is one in twenty', () => {
  expect(evaluateFlags(['./rules'])).toEqual({
    folder: './rules',
    queries: undefined,
    qrels: undefined,
    answerability: undefined,
    fitQueries: undefined,
    fitQrels: undefined,
    limitTo: undefined,
    json: undefined,
    html: undefined,
    targetRisk: 0.05,
    dataDir: undefined,
  })
})

test('every flag reaches the evaluation', () => {
  const named = [
    '--queries',
    'q',
    '--qrels',
    'r',
    '--answerability',
    'a',
    '--fit-queries',
    'fq',
    '--fit-qrels',
    'fr',
    '--limit-to',
    'contract',
    '--json',
    'j',
    '--html',
    'h',
  ]
  expect(evaluateFlags(['d', ...named, '--target-risk', '0.1', '--data-dir', 't'])).toEqual({
    folder: 'd',
    queries: 'q',
    qrels: 'r',
    answerability: 'a',
    fitQueries: 'fq',
    fitQrels: 'fr',
    limitTo: 'contract',
    json: 'j',
    html: 'h',
    targetRisk: 0.1,
    dataDir: 't',
  })
})

test.each([
  [[]],
  [['a', 'b']],
  [['a', '--target-risk', '0']],
  [['a', '--target-risk', '5%']],
  [['a', '--limit-to', '{x}']],
  [['a', '--unknown']],
])('arguments that say nothing sensible are not understood: %j', (args) => {
  expect(exitCodeOf(args)).toEqual({ code: 2, said: expect.stringMatching(/^error: /) })
})

test('help is no error', () => {
  expect(exitCodeOf(['--help']).code).toBe(0)
})

function exitCodeOf(args: readonly string[]): { readonly code: number | undefined; readonly said: string } {
  const said: string[] = []
  const keep = (text: unknown): boolean => said.push(String(text)) > 0
  const spies = [
    vi.spyOn(process.stderr, 'write').mockImplementation(keep),
    vi.spyOn(process.stdout, 'write').mockImplementation(keep),
  ]
  try {
    evaluateFlags(args)
    return { code: undefined, said: said.join('') }
  } catch (error) {
    return { code: usageExitCode(error), said: said.join('') }
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}
