import { fileURLToPath } from 'node:url'
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execFileSync } from 'node:child_process'
import { SHIPPED_MIGRATIONS, readMigrations } from '#core/db/schema.ts'
import { RELEASE } from '#core/platform/release.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const MIGRATIONS = 'core/db/migrations'

/** The migration of the example: a column that the code before it does not know. */
const EXAMPLE = `-- Oldest release: ${RELEASE}\nalter table plans add column description text;\n`

export type Repository = ReturnType<typeof repositoryWithNewestMigration>
export type PreviousTree = ReturnType<typeof extractPreviousTree>

/**
 * Returns the repository whose newest migration is tested: this one, or a copy of this tree with a commit that adds an
 * example, while this one has a single migration.
 */
export function repositoryWithNewestMigration() {
  if (SHIPPED_MIGRATIONS.length > 1) return { root: ROOT, migrations: join(ROOT, MIGRATIONS), remove: () => undefined }
  const root = mkdtempSync(join(tmpdir(), 'evidence-example-'))
  const files = git(ROOT, 'ls-files', '-z', '--cached', '--others', '--exclude-standard').split('\0')
  for (const file of files.filter((name) => name !== ''))
    if (existsSync(join(ROOT, file))) cpSync(join(ROOT, file), join(root, file))
  git(root, 'init', '--quiet')
  commitAll(root, 'tree')
  writeFileSync(join(root, MIGRATIONS, '0002-example.sql'), EXAMPLE)
  commitAll(root, 'example')
  return { root, migrations: join(root, MIGRATIONS), remove: () => rmSync(root, { recursive: true, force: true }) }
}

function commitAll(root: string, message: string): void {
  git(root, 'add', '--all')
  git(root, '-c', 'user.name=test', '-c', 'user.email=test@localhost', 'commit', '--quiet', '--message', message)
}

/**
 * Extracts the tree before the commit that added the newest migration. That is the last commit while the migration is
 * not committed.
 * @throws Error that says what to do where the git history is missing.
 */
export function extractPreviousTree(root: string) {
  return extract(root, commitBefore(root, readMigrations(join(root, MIGRATIONS)).at(-1)?.name ?? ''))
}

/** Extracts the commit before this tree: the last one while something is not committed. */
export function extractCommitBefore() {
  return extract(ROOT, git(ROOT, 'status', '--porcelain', '--untracked-files=no') === '' ? 'HEAD^' : 'HEAD')
}

function extract(root: string, commit: string) {
  const folder = mkdtempSync(join(tmpdir(), 'evidence-previous-'))
  const archive = join(folder, 'tree.tar')
  git(root, 'archive', `--output=${archive}`, commit)
  execFileSync('tar', ['-xf', archive, '-C', folder])
  rmSync(archive)
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return {
    /** Its files, with the installed packages of this tree. */
    folder,
    /** Names of its migrations, in order. */
    migrations: readdirSync(join(folder, MIGRATIONS)).sort(),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

function commitBefore(root: string, migration: string): string {
  const additions = ['log', '-1', '--diff-filter=A', '--no-renames', '--format=%H', '--']
  const added = git(root, ...additions, join(MIGRATIONS, migration))
  return git(root, 'rev-parse', '--verify', added === '' ? 'HEAD' : `${added}^`)
}

function git(root: string, ...args: readonly string[]): string {
  try {
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
  } catch (cause) {
    throw new Error(
      'The tree before is not in the git history: run the tests in a clone with its whole ' +
        'history ("git fetch --unshallow" completes a shallow one).',
      { cause },
    )
  }
}
