import { OperatorError } from '#core/platform/errors.ts'
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

type Entry = ReturnType<typeof entryAt>

/** Yields the files that each commit adds, changes or, without a blob, removes, in the order of the commits. */
export async function* changesOf(objects: GitObjects, commits: readonly Commit[], onCommit: (done: number) => void) {
  const differ = createDiffer(objects)
  for (const [index, commit] of commits.entries()) {
    onCommit(index)
    for await (const { path, id: blob } of differ('', commit.tree)) yield { path, commit, blob }
  }
}

type Difference = Readonly<{ path: string; id: string | undefined }>

/** Returns a function that yields the files in which a tree differs from the one that the folder had before. */
function createDiffer(objects: GitObjects): (folder: string, tree: string | undefined) => AsyncGenerator<Difference> {
  const last = new Map<string, Buffer>()
  const idBytes = objects.head.length / 2
  return async function* differ(folder, id): AsyncGenerator<Difference> {
    if (folder.split('/').length > GIT_BOUNDS.treeDepthMax)
      throw new OperatorError(`${folder} lies deeper than ${GIT_BOUNDS.treeDepthMax} folders`)
    const before = last.get(folder) ?? NOTHING
    const bytes = id === undefined ? NOTHING : await objects.read(id, 'tree')
    if (id === undefined) last.delete(folder)
    else last.set(folder, bytes)
    for (const [name, [old, now]] of differing(before, bytes, idBytes)) {
      const path = `${folder}${name}`
      if (old?.mode === FOLDER || now?.mode === FOLDER)
        yield* differ(`${path}/`, now?.mode === FOLDER ? now.id : undefined)
      const [was, is] = [old, now].map((entry) => (entry !== undefined && FILE.test(entry.mode) ? entry.id : undefined))
      if (was !== is) yield { path, id: is }
    }
  }
}

const NOTHING = Buffer.alloc(0)

/** Compares two trees by the names of entries, without parsing those with which both begin and those with which both end. */
function differing(before: Buffer, bytes: Buffer, idBytes: number) {
  const from = entryBefore(bytes, firstDifference(before, bytes), idBytes)
  const same = commonEnd(before, bytes)
  const pairs = new Map<string, [old: Entry | undefined, now: Entry | undefined]>()
  for (let [oldAt, at] = [from, from]; ;) {
    const [oldLeft, left] = [before.length - oldAt, bytes.length - at]
    if (oldLeft === left && left <= same) return pairs
    const isOld = oldLeft >= left
    const entry = isOld ? entryAt(before, oldAt, idBytes) : entryAt(bytes, at, idBytes)
    const [old, now] = pairs.get(entry.name) ?? []
    if ((isOld ? old : now) !== undefined) throw new OperatorError(NOT_A_TREE)
    const other = isOld ? now : old
    if (other?.id === entry.id && other.mode === entry.mode) pairs.delete(entry.name)
    else pairs.set(entry.name, isOld ? [entry, now] : [old, entry])
    if (isOld) oldAt = entry.end
    else at = entry.end
  }
}

/** Returns where the entry begins that holds an offset. */
function entryBefore(bytes: Buffer, offset: number, idBytes: number): number {
  let start = 0
  for (let next = 0; next <= offset && next < bytes.length; next += idBytes + 1) {
    start = next
    while (next < bytes.length && bytes[next] !== 0) next += 1
  }
  return start
}

const NOT_A_TREE = 'a tree of the clone holds an entry that is no name of a file: run "git fsck" in it'

/** @throws OperatorError for a name that no file of a checkout could have. */
function entryAt(bytes: Buffer, start: number, idBytes: number) {
  const space = bytes.indexOf(0x20, start)
  const zero = bytes.indexOf(0, space)
  const end = zero + 1 + idBytes
  const name = bytes.toString('utf8', space + 1, zero)
  if (space === -1 || zero === -1 || end > bytes.length || /^(?:\.{0,2}|\.git)$|[/\\\p{Cc}]/u.test(name))
    throw new OperatorError(NOT_A_TREE)
  return { name, mode: bytes.toString('latin1', start, space), id: bytes.toString('hex', zero + 1, end), end }
}

const STEP_BYTES = 16 * 1024

/** Returns with how many equal bytes both begin. */
function firstDifference(one: Buffer, other: Buffer): number {
  const least = Math.min(one.length, other.length)
  for (let at = 0; at < least; at += STEP_BYTES) {
    const end = Math.min(least, at + STEP_BYTES)
    if (one.compare(other, at, end, at, end) === 0) continue
    for (let byte = at; byte < end; byte += 1) if (one[byte] !== other[byte]) return byte
  }
  return least
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
