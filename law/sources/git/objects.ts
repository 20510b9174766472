import { createHash } from 'node:crypto'
import { lstat, mkdir, mkdtemp, readFile, readdir, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve, sep } from 'node:path'
import { OperatorError } from '#core/platform/errors.ts'
import { assertWithin, type SourceRoots } from '../roots.ts'
import { GIT_BOUNDS } from './bounds.ts'
import { startCatFile } from './cat-file.ts'

const BYTES_MAX = { commit: GIT_BOUNDS.commitBytesMax, tree: GIT_BOUNDS.treeBytesMax, blob: GIT_BOUNDS.blobBytesMax }

/** The objects of a clone. Whoever opens them disposes of them. */
export type GitObjects = Awaited<ReturnType<typeof openObjects>>

/** Whether a folder is a git repository with or without a work tree. */
export async function isClone(path: string): Promise<boolean> {
  const has = (name: string): Promise<boolean> => exists(join(path, name))
  return (await has('.git')) || ((await has('HEAD')) && (await has('objects')))
}

/**
 * Opens the objects of a clone, and nothing else of it. `git cat-file` runs in an empty repository of its own, so that
 * configuration, hooks, filters, replace refs, grafts and remotes of the clone have no effect. The environment forbids
 * protocols and lazy fetches. The digest of each object is computed again.
 * @throws OperatorError where the clone leads outside its folder, or has no commit.
 */
export async function openObjects(path: string, roots: SourceRoots = 'own rights') {
  await assertWithin(path, roots)
  const root = await realpath(path).catch((cause: unknown) => {
    throw new OperatorError(`cannot read ${path}: name an existing clone`, { cause })
  })
  const folder = await gitFolderOf(root)
  await assertOwnObjects(root, join(folder, 'objects'))
  const head = await headOf(folder)
  const isShallow = await exists(join(folder, 'shallow'))
  const own = await mkdtemp(join(tmpdir(), 'evidence-git-'))
  await mkdir(join(own, 'objects'))
  await mkdir(join(own, 'refs'))
  await writeFile(join(own, 'HEAD'), 'ref: refs/heads/none\n')
  const format = head.length === 64 ? '[extensions]\n\tobjectformat = sha256\n' : ''
  const version = head.length === 64 ? 1 : 0
  const settings = `[core]\n\trepositoryformatversion = ${version}\n\tbare = true\n\tbigFileThreshold = 16m\n`
  await writeFile(join(own, 'config'), `${settings}${format}`)
  const reader = startCatFile(own, join(folder, 'objects'))
  return {
    /** Id of the commit that is checked out. */
    head,
    /** @throws OperatorError for an object that is missing, damaged, too large or of another kind. */
    read: async (id: string, kind: keyof typeof BYTES_MAX): Promise<Buffer> => {
      const found = await reader.read(id, BYTES_MAX[kind])
      if (found === undefined) {
        const why = isShallow
          ? 'it is shallow: run "git fetch --unshallow" in it'
          : 'run "git fsck" in it, or clone again'
        throw new OperatorError(`${root} lacks the ${kind} ${id}, or holds it damaged; ${why}`)
      }
      const written = `${found.kind} ${found.bytes.length}\0`
      const digest = createHash(id.length === 64 ? 'sha256' : 'sha1')
        .update(written)
        .update(found.bytes)
        .digest('hex')
      if (digest !== id) throw new OperatorError(`${root} holds another object under the name ${id}: clone it again`)
      if (found.kind !== kind) throw new OperatorError(`${root}: ${id} is a ${found.kind} and no ${kind}`)
      return found.bytes
    },
    async [Symbol.asyncDispose]() {
      await reader.close()
      await rm(own, { recursive: true, force: true })
    },
  }
}

async function exists(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined
}

function isBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : `${root}${sep}`)
}

const LEADS_OUT = 'leads out of the folder: name the repository itself'

async function gitFolderOf(root: string): Promise<string> {
  const own = join(root, '.git')
  if (!(await isClone(root))) throw new OperatorError(`${root} is no clone: it has no .git`)
  const found = await lstat(own).catch(() => undefined)
  const stated =
    found?.isFile() === true ? /^gitdir: (.+?)\s*$/.exec((await readFile(own, 'utf8')).slice(0, 4096)) : null
  const folder = found === undefined ? root : stated?.[1] === undefined ? own : resolve(root, stated[1])
  const real = await realpath(folder).catch(() => folder)
  if (!isBelow(real, root)) throw new OperatorError(`${own} ${LEADS_OUT}`)
  if (await exists(join(real, 'commondir')))
    throw new OperatorError(`${root} is a worktree of another repository: name that`)
  return real
}

/** @throws OperatorError where objects lie outside the folder: behind alternates or behind a link. */
async function assertOwnObjects(root: string, objects: string): Promise<void> {
  if (await exists(join(objects, 'info', 'alternates')))
    throw new OperatorError(
      `${root} borrows objects by objects/info/alternates: run "git repack -a -d" and remove that file`,
    )
  for (const folder of [objects, join(objects, 'info'), join(objects, 'pack')]) {
    if (
      (await lstat(folder).catch(() => undefined))?.isSymbolicLink() === true ||
      !isBelow(await realpath(folder).catch(() => folder), root)
    )
      throw new OperatorError(`${folder} ${LEADS_OUT}`)
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
    const link = entries.find((entry) => entry.isSymbolicLink())
    if (link !== undefined) throw new OperatorError(`${join(folder, link.name)} ${LEADS_OUT}`)
  }
}

const ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/

/** The commit of HEAD, by the files of the repository alone. */
async function headOf(folder: string): Promise<string> {
  const head = await smallText(join(folder, 'HEAD'))
  const [, ref] = /^ref: (refs\/heads\/[^\s~^:?*[\\]+)$/.exec(head) ?? []
  if (ref === undefined ? !ID.test(head) : ref.includes('..'))
    throw new OperatorError(`${folder}: HEAD names no commit`)
  if (ref === undefined) return head
  const loose = await smallText(join(folder, ref))
  if (ID.test(loose)) return loose
  const packed = await smallText(join(folder, 'packed-refs'))
  const line = packed.split('\n').find((each) => each.endsWith(` ${ref}`))
  const id = line?.slice(0, line.indexOf(' ')) ?? ''
  if (!ID.test(id))
    throw new OperatorError(`${folder}: ${ref} names no commit; a repository without commits holds no law`)
  return id
}

/** Returns a text without white space around it, '' where there is no such regular file within the bound. */
async function smallText(path: string): Promise<string> {
  const found = await lstat(path).catch(() => undefined)
  if (found?.isFile() !== true || found.size > GIT_BOUNDS.packedRefsBytesMax) return ''
  return (await readFile(path, 'utf8')).trim()
}
