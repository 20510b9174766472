import { OperatorError } from '#core/platform/errors.ts'
import { firstIndex } from '#core/platform/first-index.ts'
import { GIT_BOUNDS } from './bounds.ts'
import type { GitObjects } from './objects.ts'

export interface Commit {
  readonly id: string
  readonly tree: string
  /** The word in brackets with which its message begins: `reform`. */
  readonly kind: string
  /** Day of its trailer `Source-Date`. */
  readonly sourceDate: string | undefined
}

/** Returns the commits that the branch of HEAD has had, oldest first: of a merge its first parent. */
export async function commitsOf(objects: GitObjects, onCommit: (done: number) => void): Promise<readonly Commit[]> {
  const commits: Commit[] = []
  for (let id: string | undefined = objects.head; id !== undefined;) {
    const text: string = (await objects.read(id, 'commit')).toString('utf8')
    const end = text.indexOf('\n\n')
    const head = end === -1 ? text : text.slice(0, end)
    const message = end === -1 ? '' : text.slice(end + 2)
    const tree = /^tree ([0-9a-f]+)$/m.exec(head)?.[1]
    if (tree === undefined) throw new OperatorError(`the commit ${id} names no tree`)
    const kind = /^\[([\w-]+)\]/.exec(message)?.[1] ?? ''
    commits.push({ id, tree, kind, sourceDate: /^Source-Date: *(\d{4}-\d{2}-\d{2}) *$/m.exec(message)?.[1] })
    if (commits.length > GIT_BOUNDS.commitsMax) throw new OperatorError(`more than ${GIT_BOUNDS.commitsMax} commits`)
    onCommit(commits.length)
    id = /^parent ([0-9a-f]+)$/m.exec(head)?.[1]
  }
  return commits.reverse()
}

const FOLDER = '40000'
/** A regular file, executable or not. A link or a submodule is no file of law. */
const FILE = /^100/

interface Entry {
  readonly name: string
  readonly mode: string
  readonly id: string
  readonly end: number
}

/** A tree and the offsets at which its entries start. */
interface Tree {
  readonly bytes: Buffer
  readonly starts: readonly number[]
}

/** Yields the files that each commit adds, changes or, without a blob, removes, in the order of the commits. */
export async function* changesOf(objects: GitObjects, commits: readonly Commit[], onCommit: (done: number) => void) {
  const differ = createDiffer(objects)
  for (const [index, commit] of commits.entries()) {
    onCommit(index)
    for await (const { path, id: blob } of differ('', commit.tree)) yield { path, commit, blob }
  }
}

interface Difference {
  readonly path: string
  readonly id: string | undefined
}

/** Returns a function that yields the files in which a tree differs from the one that the folder had before. */
function createDiffer(objects: GitObjects): (folder: string, tree: string | undefined) => AsyncGenerator<Difference> {
  const last = new Map<string, Tree>()
  const idBytes = objects.head.length / 2
  return async function* differ(folder, id): AsyncGenerator<Difference> {
    if (folder.split('/').length > GIT_BOUNDS.treeDepthMax)
      throw new OperatorError(`${folder} lies deeper than ${GIT_BOUNDS.treeDepthMax} folders`)
    const before = last.get(folder) ?? NOTHING
    const bytes = id === undefined ? NOTHING.bytes : await objects.read(id, 'tree')
    const { changed, starts } = differing(before, bytes, idBytes)
    if (id === undefined) last.delete(folder)
    else last.set(folder, { bytes, starts })
    for (const { name, old, now } of changed) {
      const path = `${folder}${name}`
      if (old?.mode === FOLDER || now?.mode === FOLDER)
        yield* differ(`${path}/`, now?.mode === FOLDER ? now.id : undefined)
      const [was, is] = [old, now].map((entry) => (entry !== undefined && FILE.test(entry.mode) ? entry.id : undefined))
      if (was !== is) yield { path, id: is }
    }
  }
}

const NOTHING: Tree = { bytes: Buffer.alloc(0), starts: [] }

interface Pair {
  readonly name: string
  readonly old: Entry | undefined
  readonly now: Entry | undefined
}

/** Compares a tree with the one before. Where both have the same names, only entries that differ are parsed. */
function differing(
  before: Tree,
  bytes: Buffer,
  idBytes: number,
): { readonly changed: readonly Pair[]; readonly starts: readonly number[] } {
  const changed: Pair[] = []
  if (before.bytes.length === bytes.length) {
    for (let at = firstDifference(before.bytes, bytes, 0); at !== undefined;) {
      const start = startBefore(before.starts, at)
      const [old, now] = [entryAt(before.bytes, start, idBytes), entryAt(bytes, start, idBytes)]
      if (old.name !== now.name || old.end !== now.end) return compared(before, bytes, idBytes)
      changed.push({ name: old.name, old, now })
      at = firstDifference(before.bytes, bytes, old.end)
    }
    return { changed, starts: before.starts }
  }
  return compared(before, bytes, idBytes)
}

/** Compares two trees without parsing the entries with which both begin and those with which both end. */
function compared(before: Tree, bytes: Buffer, idBytes: number): ReturnType<typeof differing> {
  const least = Math.min(before.bytes.length, bytes.length)
  const from = startBefore(before.starts, firstDifference(before.bytes, bytes, 0) ?? least)
  const moved = bytes.length - before.bytes.length
  const endFrom = Math.max(before.bytes.length - commonEnd(before.bytes, bytes), from, from - moved)
  const oldStarts = before.starts.filter((start) => start >= from && start < endFrom)
  const endStarts = before.starts.filter((start) => start >= endFrom)
  const end = (endStarts[0] ?? before.bytes.length) + moved
  const old = new Map(
    oldStarts.map((start) => entryAt(before.bytes, start, idBytes)).map((entry) => [entry.name, entry]),
  )
  const changed: Pair[] = []
  const starts = before.starts.filter((start) => start < from)
  for (let start = from; start < end;) {
    const now = entryAt(bytes, start, idBytes)
    if (now.end > end) throw new OperatorError(NOT_A_TREE)
    starts.push(start)
    start = now.end
    const was = old.get(now.name)
    old.delete(now.name)
    if (was?.id !== now.id || was.mode !== now.mode) changed.push({ name: now.name, old: was, now })
  }
  for (const [name, was] of old) changed.push({ name, old: was, now: undefined })
  for (const start of endStarts) starts.push(start + moved)
  return { changed, starts }
}

const NOT_A_TREE = 'a tree of the clone holds an entry that is no name of a file: run "git fsck" in it'

/** @throws OperatorError for a name that no file of a checkout could have. */
function entryAt(bytes: Buffer, start: number, idBytes: number): Entry {
  const space = bytes.indexOf(0x20, start)
  const zero = bytes.indexOf(0, space)
  const end = zero + 1 + idBytes
  const name = bytes.toString('utf8', space + 1, zero)
  if (space === -1 || zero === -1 || end > bytes.length || /^(?:\.{0,2}|\.git)$|[/\\\p{Cc}]/u.test(name))
    throw new OperatorError(NOT_A_TREE)
  return { name, mode: bytes.toString('latin1', start, space), id: bytes.toString('hex', zero + 1, end), end }
}

const STEP_BYTES = 16 * 1024

/** Of what both have; undefined where that is equal. */
function firstDifference(one: Buffer, other: Buffer, from: number): number | undefined {
  const least = Math.min(one.length, other.length)
  for (let at = from; at < least; at += STEP_BYTES) {
    const end = Math.min(least, at + STEP_BYTES)
    if (one.compare(other, at, end, at, end) === 0) continue
    for (let byte = at; byte < end; byte += 1) if (one[byte] !== other[byte]) return byte
  }
  return undefined
}

/** Returns with how many equal bytes both end. */
function commonEnd(one: Buffer, other: Buffer): number {
  const least = Math.min(one.length, other.length)
  let same = 0
  for (let step = STEP_BYTES; step > 0;) {
    const [end, otherEnd] = [one.length - same, other.length - same]
    if (same + step <= least && one.compare(other, otherEnd - step, otherEnd, end - step, end) === 0) same += step
    else step = Math.floor(step / 2)
  }
  return same
}

/** The last start at or before an offset. */
function startBefore(starts: readonly number[], at: number): number {
  return starts[firstIndex(starts.length, (index) => (starts[index] ?? 0) > at) - 1] ?? 0
}
