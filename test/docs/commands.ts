import type { Command } from 'commander'
import { z } from 'zod'
import { createProgram } from '#operator/commands/program.ts'
import { linksOf, pageAt, type Page } from './pages.ts'

/** Commands by the names of the npm scripts. */
export const SCRIPTS = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(pageAt('package.json').text)).scripts

export interface Block {
  readonly page: string
  /** What stands behind the opening fence: `sh`, `json`, `text`. */
  readonly language: string
  readonly text: string
}

const INDEX = 'docs/README.md'
/**
 * Commands that need minutes, a model, a download, Docker or a cluster, or that the scenario itself starts. A block that
 * begins a line with one is not run; it is parsed as all others are.
 */
const NOT_RUN = [
  /^npm (?:test|run (?:demo|dev|test:\w+|bench|bench:import|start:[\w-]+|measure:citations))\b/m,
  /^npm run evaluate\b.*--(?:corpus|model|embeddings|reader)\b/m,
  /^npm run operator -- (?:models fetch|build start .*--(?:engine|embedding|search-questions|reader))\b/m,
  /^npm run operator -- restore run\b(?!.*--check)/m,
  /^(?:[A-Z_]+=\S+ )?docker compose\b/m,
  /^git clone\b/m,
]
const WORDS = /"[^"]*"|'[^']*'|[^\s"']+/g
/** Up to the end of a simple command; quotes are taken whole. */
const ARGUMENTS = String.raw`((?:"[^"]*"|'[^']*'|[^\n|;&)>"'])*)`
const SCRIPT = new RegExp(String.raw`\bnpm (?:run (?:--silent )?([\w:-]+)|(test)\b)(?: -- ${ARGUMENTS})?`, 'g')
const COMPOSE = new RegExp(String.raw`\bdocker compose run\b[^\n]*? operator ${ARGUMENTS}`, 'g')

const OPERATOR = await createProgram({ environment: {}, stdout: process.stdout, stderr: process.stderr })

export function blocksOf({ path, text }: Page): readonly Block[] {
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language = '', block = '']) => ({
    page: path,
    language,
    text: block,
  }))
}

/** The front page, the index, and the pages in its order: a page may use what an earlier one made. */
export function pagesInOrder(): readonly Page[] {
  const listed = linksOf(pageAt(INDEX)).map(({ path }) => path)
  const paths = new Set(['README.md', INDEX, ...listed.filter((path) => path.startsWith('docs/'))])
  return [...paths].map(pageAt)
}

export function isRun({ language, text }: Block): boolean {
  return language === 'sh' && !NOT_RUN.some((command) => command.test(joined(text)))
}

/** Continued lines are one line. */
function joined(text: string): string {
  return text.replaceAll(/\\\n\s*/g, '')
}

/** The calls of npm scripts in a block or in the code spans of a text. */
export function scriptCalls(text: string) {
  return [...joined(text).matchAll(SCRIPT)].map(([, script, test, words = '']) => ({
    script: script ?? test ?? '',
    words: words.match(WORDS) ?? [],
  }))
}

/** Code spans of a page, outside of its blocks. */
export function spansOf({ text }: Page): readonly string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, '')
  return [...prose.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span.replaceAll(/\s+/g, ' '))
}

/** The operator's command lines in a text, without `operator` itself. */
export function operatorCalls(text: string): readonly (readonly string[])[] {
  const composed = [...joined(text).matchAll(COMPOSE)].map(([, words = '']) => words.match(WORDS) ?? [])
  const run = scriptCalls(text).filter(({ script }) => script === 'operator')
  return [...run.map(({ words }) => words), ...composed]
}

/** The operator's command line in a code span: after `operator`, or a noun with its verb. */
export function operatorCallOf(span: string): readonly string[] | undefined {
  const words = span.match(WORDS) ?? []
  const [first = '', second = ''] = words
  if (first === 'operator') return words.slice(1)
  const noun = OPERATOR.commands.find((command) => command.name() === first)
  return noun !== undefined && noun.commands.length > 0 && /^[a-z][a-z-]+$/.test(second) ? words : undefined
}

/** What the command line does not know of these words: a command or an option. `…` stands for any command. */
export function operatorFaults(words: readonly string[]): readonly string[] {
  if (words[0] === '…') return []
  let command: Command = OPERATOR
  let rest = words
  for (;;) {
    const [next] = rest
    const below = command.commands.find((each) => each.name() === next)
    if (below === undefined) break
    command = below
    rest = rest.slice(1)
  }
  const [first] = rest
  if (command.commands.length > 0 && command.options.length === 0 && first !== undefined && !first.startsWith('-'))
    return [`operator ${words.join(' ')}: no command ${first}`]
  const known = new Set(['--help', ...command.options.flatMap(({ long, short }) => [long, short])])
  return rest
    .map((word) => word.split('=')[0] ?? word)
    .filter((word) => /^--?[a-z]/.test(word) && !known.has(word))
    .map((word) => `operator ${words.join(' ')}: no option ${word}`)
}
