import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import {
  SCRIPTS,
  blocksOf,
  isRun,
  operatorCallOf,
  operatorCalls,
  operatorFaults,
  pagesInOrder,
  scriptCalls,
  spansOf,
} from './commands.ts'
import { configurationList } from './configuration-list.ts'
import { PAGES, pageAt } from './pages.ts'

/** A line that only a shell understands. */
const COMMAND = /^\s*(?:npm|npx|docker|curl|node|git|openssl|cat|mkdir|export)\s/m

/** What the shell says of a text that it does not run. */
function syntaxFault(text: string): string {
  return spawnSync('bash', ['-n'], { input: text, encoding: 'utf8' }).stderr
}

function unknownScripts(text: string): readonly string[] {
  return scriptCalls(text).flatMap(({ script }) => (script in SCRIPTS ? [] : [script]))
}

describe.each(PAGES)('$path', (page) => {
  const blocks = blocksOf(page)
  const shell = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text)

  test('has every command in a block that is run or parsed, and the shell understands it', () => {
    expect(blocks.filter(({ language, text }) => language !== 'sh' && COMMAND.test(text))).toEqual([])
    expect(shell.map(syntaxFault).join('')).toBe('')
  })

  test('names scripts, commands and options that exist', () => {
    const spans = spansOf(page)
    const texts = [...shell, ...spans]
    expect(texts.flatMap(unknownScripts)).toEqual([])
    const named = spans.map(operatorCallOf).filter((words) => words !== undefined)
    expect([...texts.flatMap(operatorCalls), ...named].flatMap(operatorFaults)).toEqual([])
  })
})

test('pages with commands that are run are in the index', () => {
  const indexed = new Set(pagesInOrder().map(({ path }) => path))
  const withCommands = PAGES.filter((page) => blocksOf(page).some(isRun)).map(({ path }) => path)
  expect(withCommands.filter((path) => !indexed.has(path))).toEqual([])
})

test('the page of configuration has every variable of every process, as the schemas have them', () => {
  expect(pageAt('docs/deploy/configuration.md').text).toContain(
    `<!-- configuration -->\n\n${configurationList()}\n\n<!-- /configuration -->`,
  )
})

test('a command that is wrong is noticed', () => {
  const block = 'npm run --silent operator -- keys isue --client "a | b" \\\n  --days 3 | field id\nnpm run tset'
  expect(unknownScripts(block)).toEqual(['tset'])
  expect(operatorCalls(block)).toEqual([['keys', 'isue', '--client', '"a | b"', '--days', '3']])
  expect(operatorFaults(['keys', 'isue'])).toEqual(['operator keys isue: no command isue'])
  expect(operatorFaults(['keys', 'issue', '--days', '3'])).toEqual(['operator keys issue --days 3: no option --days'])
  expect(operatorCalls('docker compose run --rm -T operator review report VERSION --out - > report.html')).toEqual([
    ['review', 'report', 'VERSION', '--out', '-'],
  ])
  expect(operatorCallOf('keys rotate')).toEqual(['keys', 'rotate'])
  expect(operatorCallOf('keys')).toBeUndefined()
  expect(syntaxFault('if true; then')).not.toBe('')
})
