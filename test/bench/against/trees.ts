import { execFileSync } from 'node:child_process'
import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Steps } from '#operator/demo/steps.ts'
import { UsageError } from '#test/support/long-run.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** @throws UsageError where there is no such commit. */
export function commitOf(name: string): string {
  try {
    return git(['rev-parse', '--verify', '--quiet', `${name}^{commit}`])
  } catch (cause) {
    throw new UsageError(`There is no commit "${name}" here: name one of "git log", or fetch the whole history.`, {
      cause,
    })
  }
}

/** A commit of the files as they are, also of those that are not committed. @param folder for its index. */
export function commitOfWorkingTree(folder: string): string {
  const index = { GIT_INDEX_FILE: join(folder, 'index') }
  git(['read-tree', 'HEAD'], index)
  git(['add', '--all'], index)
  const tree = git(['write-tree'], index)
  if (tree === git(['rev-parse', 'HEAD^{tree}'])) return commitOf('HEAD')
  const identity = ['-c', 'user.name=bench', '-c', 'user.email=bench@localhost']
  return git([...identity, 'commit-tree', tree, '-p', 'HEAD', '-m', 'The working tree'])
}

/** Puts the files of a commit, with installed packages, into a git worktree that is removed with the steps. */
export function openTree(commit: string, folder: string, steps: Steps): void {
  git(['-c', 'core.hooksPath=/dev/null', 'worktree', 'add', '--detach', '--quiet', folder, commit])
  steps.onStop(async () => git(['worktree', 'remove', '--force', folder]))
  installPackages(folder)
}

/** Packages of the same lockfile are those of this tree; others are installed. */
function installPackages(folder: string): void {
  const lockOf = (root: string): string => readFileSync(join(root, 'package-lock.json'), 'utf8')
  if (lockOf(folder) === lockOf(ROOT)) return symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const options = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', options, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
}

function git(args: readonly string[], variables: Readonly<Record<string, string>> = {}): string {
  const env = { ...process.env, ...variables }
  return execFileSync('git', args, { cwd: ROOT, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
}
