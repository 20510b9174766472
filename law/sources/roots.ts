import { constants, type Dirent } from 'node:fs'
import { open, readdir, readlink, realpath, type FileHandle } from 'node:fs/promises'
import { normalize, sep } from 'node:path'
import { OperatorError } from '#core/platform/errors.ts'

/**
 * Folders below which a job worker opens sources, without following a link: whoever may name a source must not read by
 * it what the worker can. `own rights`: a command line opens what its account may.
 */
export type SourceRoots = readonly string[] | 'own rights'

/** Folders whose files are no bytes on a disk: processes, settings of the kernel, devices. */
export const PSEUDO_FILE = /^\/(?:proc|sys|dev)(?:\/|$)/

/** @throws OperatorError for a place outside the roots, of which nothing is looked at, and for one behind a link. */
export async function assertWithin(path: string, roots: SourceRoots): Promise<void> {
  if (roots === 'own rights') return
  await assertBelow(path, roots)
  if ((await realpath(path).catch(() => path)) !== path) throw linked(path)
}

async function assertBelow(path: string, roots: readonly string[]): Promise<void> {
  const real = await Promise.all(roots.map((root) => realpath(root).catch(() => root)))
  const isBelow = real.some((root) => path === root || path.startsWith(`${root}${sep}`))
  if (normalize(path) !== path || PSEUDO_FILE.test(path) || !isBelow)
    throw new OperatorError(
      `${path} is outside the folders that the job worker opens, which SOURCE_ROOTS names ` +
        `(${roots.length === 0 ? 'none' : roots.join(', ')}): add its folder there, or capture it with "operator capture"`,
    )
}

/**
 * Opens a regular file or a folder. Below roots the descriptor itself proves that no component of the path was a link,
 * so that nothing can be exchanged between a check and the opening. A pipe or device is refused, and never waited for.
 * @throws OperatorError as `assertWithin` does, and for anything but the expected kind.
 */
export async function openWithin(path: string, roots: SourceRoots, kind: 'file' | 'folder'): Promise<FileHandle> {
  const isOwn = roots === 'own rights'
  if (!isOwn) await assertBelow(path, roots)
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | (isOwn ? 0 : constants.O_NOFOLLOW)
  const opened = await open(path, flags).catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    throw code === 'ELOOP' ? linked(path) : code === 'ENXIO' ? another(path, kind) : error
  })
  try {
    if (!isOwn && (await readlink(descriptorPath(opened))) !== path) throw linked(path)
    const found = await opened.stat()
    if (!(kind === 'file' ? found.isFile() : found.isDirectory())) throw another(path, kind)
    return opened
  } catch (error) {
    await opened.close()
    throw error
  }
}

/** Returns the entries of a folder, which is opened as `openWithin` does. */
export async function entriesWithin(path: string, roots: SourceRoots): Promise<readonly Dirent[]> {
  if (roots === 'own rights') return await readdir(path, { withFileTypes: true })
  await using folder = await openWithin(path, roots, 'folder')
  return await readdir(descriptorPath(folder), { withFileTypes: true })
}

/** The kernel's own link to what is open. */
function descriptorPath({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}`
}

function linked(path: string): OperatorError {
  return new OperatorError(
    `${path} is a link, lies behind one, or was moved meanwhile, and the job worker follows none: put the file itself there`,
  )
}

function another(path: string, kind: 'file' | 'folder'): OperatorError {
  return new OperatorError(
    kind === 'file' ? `${path} is not a regular file: remove it from the folder` : `${path} is not a folder`,
  )
}
