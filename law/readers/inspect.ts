import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { OperatorError } from '#core/platform/errors.ts'
import { READER_BOUNDS } from './bounds.ts'
import { shareOf } from './coverage.ts'
import { readBytes, readDocument } from './read.ts'
import type { ReadDocument } from './read.ts'
import type { ReaderWarning } from './document.ts'
import { UnreadableFile } from './tree.ts'

/** What a file holds, as `operator inspect` shows it. */
export interface Inspection {
  readonly path: string
  readonly format: string | null
  readonly title: string | null
  readonly identifier: string | null
  readonly language: string | null
  readonly jurisdiction: string | null
  readonly authority: string | null
  readonly published_at: string | null
  readonly effective_from: string | null
  readonly effective_to: string | null
  readonly provisions: number
  /** Provisions with an anchor of the publisher. */
  readonly anchored: number
  readonly by_kind: Readonly<Record<string, number>>
  /** Share of the characters of the body that lie in exactly one passage or named omission. */
  readonly coverage: number | null
  readonly warnings: readonly ReaderWarning[]
}

/** Kinds that are the document itself or a frame of it, and no provision. */
const FRAMES = new Set(['', 'document'])

/** Reads a file and says what it holds; a file that is not read has a warning that says why. */
export async function inspectFile(path: string): Promise<Inspection> {
  try {
    return inspectionOf(path, await readDocument(path, await readBytes(path)))
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error
    return { path, ...UNREAD, warnings: [warningOf(error)] }
  }
}

const UNREAD = {
  format: null,
  title: null,
  identifier: null,
  language: null,
  jurisdiction: null,
  authority: null,
  published_at: null,
  effective_from: null,
  effective_to: null,
  provisions: 0,
  anchored: 0,
  by_kind: {},
  coverage: null,
}

function warningOf({ message, line, page }: UnreadableFile): ReaderWarning {
  return { message, ...(line === undefined ? {} : { line }), ...(page === undefined ? {} : { page }) }
}

export function inspectionOf(path: string, read: ReadDocument): Inspection {
  const { fields, format, warnings } = read
  const provisions = read.provisions.filter(({ kind }) => !FRAMES.has(kind))
  const byKind: Record<string, number> = {}
  for (const { kind } of provisions) byKind[kind] = (byKind[kind] ?? 0) + 1
  return {
    path,
    format,
    title: fields.title ?? null,
    identifier: fields.identifier ?? null,
    language: fields.language ?? null,
    jurisdiction: fields.jurisdiction ?? null,
    authority: fields.authority ?? null,
    published_at: fields.publishedAt?.day ?? null,
    effective_from: fields.effectiveFrom?.day ?? null,
    effective_to: fields.effectiveTo?.day ?? null,
    provisions: provisions.length,
    anchored: provisions.filter(({ anchor }) => anchor !== undefined).length,
    by_kind: byKind,
    coverage: shareOf(read.coverage),
    warnings,
  }
}

/**
 * Returns the files of the paths, in order; of a folder every visible file below it, by name.
 * @throws OperatorError for a path that does not exist, and beyond the bound.
 */
export async function filesBelow(paths: readonly string[]): Promise<readonly string[]> {
  const files: string[] = []
  const waiting = [...paths].toReversed()
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const current = path
    const found = await stat(current).catch((cause: unknown) => {
      throw new OperatorError(`cannot read ${current}: name an existing file or folder`, { cause })
    })
    if (!found.isDirectory()) {
      if (found.isFile()) files.push(current)
      if (files.length > READER_BOUNDS.inspectedFilesMax)
        throw new OperatorError(`more than ${READER_BOUNDS.inspectedFilesMax} files: name fewer`)
      continue
    }
    const names = (await readdir(current)).filter((name) => !name.startsWith('.')).toSorted()
    for (const name of names.toReversed()) waiting.push(join(current, name))
  }
  return files
}
