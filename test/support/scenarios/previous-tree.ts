import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readMigrations } from '#core/db/migration-files.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const MIGRATIONS = 'core/db/migrations'

export interface PreviousTree {
  /** Its files, with the installed packages of this tree. */
  readonly folder: string
  /** Names of its migrations, in order. */
  readonly migrations: readonly string[]
  /** Its migrations state the oldest release that runs on them, so it accepts a newer schema that does. */
  readonly knowsTheRule: boolean
  remove(): void
}

/**
 * Extracts the tree before the commit that added the newest migration. That is the last commit while the migration is
 * not committed.
 * @throws Error that says what to do where the git history is missing.
 */
export function extractPreviousTree(root = ROOT): PreviousTree {
  const commit = commitBefore(root, readMigrations(join(root, MIGRATIONS)).at(-1)?.name ?? '')
  const folder = mkdtempSync(join(tmpdir(), 'evidence-previous-'))
  const archive = join(folder, 'tree.tar')
  git(root, 'archive', `--output=${archive}`, commit)
  execFileSync('tar', ['-xf', archive, '-C', folder])
  rmSync(archive)
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const migrations = join(folder, MIGRATIONS)
  return {
    folder,
    migrations: readdirSync(migrations).sort(),
    knowsTheRule: statesReleases(migrations),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

function commitBefore(root: string, migration: string): string {
  const added = git(
    root,
    'log',
    '-1',
    '--diff-filter=A',
    '--no-renames',
    '--format=%H',
    '--',
    join(MIGRATIONS, migration),
  )
  return git(root, 'rev-parse', '--verify', added === '' ? 'HEAD' : `${added}^`)
}

function git(root: string, ...args: readonly string[]): string {
  try {
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
  } catch (cause) {
    throw new Error(
      'The tree before the newest migration is not in the git history: run the tests in a clone with its whole ' +
        'history ("git fetch --unshallow" completes a shallow one).',
      { cause },
    )
  }
}

function statesReleases(migrations: string): boolean {
  try {
    return readMigrations(migrations).length > 0
  } catch {
    return false
  }
}
