import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const ENVIRONMENT = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'Publisher',
  GIT_AUTHOR_EMAIL: 'publisher@law.example',
  GIT_AUTHOR_DATE: '2024-01-01T00:00:00Z',
  GIT_COMMITTER_NAME: 'Publisher',
  GIT_COMMITTER_EMAIL: 'publisher@law.example',
  GIT_COMMITTER_DATE: '2024-01-01T00:00:00Z',
}

/** Runs git in a repository, as its publisher does. */
export function git(folder: string, ...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: folder, env: ENVIRONMENT, encoding: 'utf8', stdio: 'pipe' }).trim()
}

export function createRepository(folder: string): void {
  mkdirSync(folder, { recursive: true })
  git(folder, 'init', '-q', '-b', 'main')
}

/** Commits files, of which null removes one. @returns the id of the commit. */
export function commit(folder: string, words: string, files: Readonly<Record<string, string | null>>): string {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name)
    if (content === null) {
      rmSync(path)
      continue
    }
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
  }
  git(folder, 'add', '-A')
  git(folder, 'commit', '-q', '--allow-empty', '-m', words)
  return git(folder, 'rev-parse', 'HEAD')
}

/** An act of the open form: with two articles, in force from a day. */
export function act(text: string, fields: Readonly<Record<string, string>> = {}): string {
  const front = {
    title: 'Ley de lámparas',
    identifier: 'LEY-12',
    country: 'pe',
    rank: 'ley',
    publication_date: '1999-12-01',
    last_updated: '2000-01-01',
    status: 'in_force',
    source: 'https://laws.example/12',
    ...fields,
  }
  const lines = Object.entries(front).map(([name, value]) => `${name}: "${value}"`)
  return `---\n${lines.join('\n')}\n---\n# ${front.title}\n\n##### Artículo 1\n\n${text}\n\n##### Artículo 2\n\nEsta ley es de la casa y de los que en ella se alumbran.\n`
}

export function message(kind: string, sourceDate?: string): string {
  const trailer = sourceDate === undefined ? '' : `Source-Date: ${sourceDate}\n`
  return `[${kind}] Ley de lámparas\n\nSource-Id: R\n${trailer}Norm-Id: LEY-12\n`
}

export const ONE = 'Cada casa tiene una lámpara en la puerta.'
export const TWO = 'Cada casa tiene dos lámparas en la puerta.'
export const PATH = 'pe/LEY-12.md'

/** A commit's message, and the act as it has it; null removes it. */
export type Step = readonly [message: string, content: string | null]
export const FIRST: readonly [string, string] = [message('new', '1999-12-01'), act(ONE)]
export const LATER = { last_updated: '2010-05-01' }

/** Makes a repository of one act. */
export function repositoryOf(root: string, steps: readonly Step[]): string {
  const folder = mkdtempSync(join(root, 'repository-'))
  createRepository(folder)
  for (const [words, content] of steps) commit(folder, words, { [PATH]: content })
  return folder
}
