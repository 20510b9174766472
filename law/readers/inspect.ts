import { readdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { OperatorError } from '#core/platform/errors.ts'
import { READER_BOUNDS } from './bounds.ts'
import { shareOf } from './coverage.ts'
import { readBytes, readDocument, type ReadDocument } from './read.ts'
import { UnreadableFile } from './tree.ts'

/** Kinds that are the document itself or a frame of it, and no provision. */
const FRAMES = new Set(['', 'document'])

/** Reads a file and says what it holds; a file that is not read has a warning that says why. */
export async function inspectFile(path: string): Promise<Inspection> {
  try {
    return inspectionOf(path, await readDocument(path, await readBytes(path)))
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error
    const { message, line, page } = error
    const place = { ...(line === undefined ? {} : { line }), ...(page === undefined ? {} : { page }) }
    return inspectionOf(path, undefined, [{ message, ...place }])
  }
}

/** What a file holds, as `operator inspect` shows it. */
export type Inspection = ReturnType<typeof inspectionOf>

/** @param read undefined: the file is not read. */
export function inspectionOf(path: string, read: ReadDocument | undefined, warnings = read?.warnings ?? []) {
  const fields = read?.fields
  const provisions = read?.provisions.filter(({ kind }) => !FRAMES.has(kind)) ?? []
  const by_kind: Record<string, number> = {}
  for (const { kind } of provisions) by_kind[kind] = (by_kind[kind] ?? 0) + 1
  return {
    path,
    format: read?.format ?? null,
    title: fields?.title ?? null,
    identifier: fields?.identifier ?? null,
    language: fields?.language ?? null,
    jurisdiction: fields?.jurisdiction ?? null,
    authority: fields?.authority ?? null,
    published_at: fields?.publishedAt?.day ?? null,
    effective_from: fields?.effectiveFrom?.day ?? null,
    effective_to: fields?.effectiveTo?.day ?? null,
    provisions: provisions.length,
    anchored: provisions.filter(({ anchor }) => anchor !== undefined).length,
    by_kind,
    /** Share of the characters of the body that lie in exactly one passage or named omission. */
    coverage: read === undefined ? null : shareOf(read.coverage),
    warnings,
  }
}

/**
 * Returns the files of the paths, in order; of a folder every visible file below it, by name.
 * @throws OperatorError for a path that does not exist, for a link out of its folder, and beyond the bound.
 */
export async function filesBelow(paths: readonly string[]): Promise<readonly string[]> {
  const files: string[] = []
  const waiting = paths.map((path) => ({ path, root: path })).toReversed()
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { path: current, root } = next
    const found = await stat(current).catch((cause: unknown) => {
      throw new OperatorError(`cannot read ${current}: name an existing file or folder`, { cause })
    })
    if (current !== root && !(await realpath(current)).startsWith(join(await realpath(root), '/')))
      throw new OperatorError(`${current} is a link out of ${root}: name what it leads to`)
    if (!found.isDirectory()) {
      if (found.isFile()) files.push(current)
      if (files.length > READER_BOUNDS.inspectedFilesMax)
        throw new OperatorError(`more than ${READER_BOUNDS.inspectedFilesMax} files: name fewer`)
      continue
    }
    const names = (await readdir(current)).filter((name) => !name.startsWith('.')).toSorted()
    for (const name of names.toReversed()) waiting.push({ path: join(current, name), root })
  }
  return files
}
