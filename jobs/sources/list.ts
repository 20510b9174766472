import type { Dirent } from 'node:fs'
import { lstat, readdir, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import { BOUNDS } from '#core/platform/bounds.ts'
import { OperatorError } from '#core/platform/errors.ts'

export const SOURCE_FORMATS = ['jsonl', 'markdown'] as const
export type SourceFormat = (typeof SOURCE_FORMATS)[number]

const MEDIA_TYPES = { jsonl: 'application/x-ndjson', markdown: 'text/markdown' } as const satisfies Record<
  SourceFormat,
  string
>

/** A local file to capture: `path` must lie inside `root` once links are followed. */
export interface SourceFile {
  readonly root: string
  readonly path: string
  /** `path` relative to `root`, with forward slashes. */
  readonly sourceName: string
  readonly mediaType: string
}

/**
 * Lists the files of a corpus, sorted by name. JSONL: the file itself, or `corpus.jsonl` of a folder. Markdown: every
 * `*.md` and `*.markdown` of the folder's tree, in any case. A file without front matter is captured too, so that the
 * import reports it.
 * @throws OperatorError when there is nothing to read, or a link leads out of the folder.
 */
export async function listSourceFiles(path: string, format: SourceFormat): Promise<readonly SourceFile[]> {
  const root = await existing(path)
  switch (format) {
    case 'jsonl':
      return [await jsonlFile(root)]
    case 'markdown':
      return await markdownFiles(root)
    default:
      return format satisfies never
  }
}

async function existing(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (cause) {
    throw new OperatorError(`cannot read ${path}: name an existing file or folder`, { cause })
  }
}

async function jsonlFile(root: string): Promise<SourceFile> {
  if ((await stat(root)).isFile())
    return { root: dirname(root), path: root, sourceName: basename(root), mediaType: MEDIA_TYPES.jsonl }
  const path = join(root, 'corpus.jsonl')
  const found = await lstat(path).catch(() => undefined)
  if (found === undefined)
    throw new OperatorError(`${root} holds no corpus.jsonl: name the JSONL file itself, or choose the markdown format`)
  return { root, path, sourceName: 'corpus.jsonl', mediaType: MEDIA_TYPES.jsonl }
}

async function markdownFiles(root: string): Promise<readonly SourceFile[]> {
  if ((await stat(root)).isFile())
    return [{ root: dirname(root), path: root, sourceName: basename(root), mediaType: MEDIA_TYPES.markdown }]
  const files: SourceFile[] = []
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isSymbolicLink() && (await stat(path).catch(() => undefined))?.isDirectory() === true) {
      throw new OperatorError(
        `${path} is a link to a folder, which is not followed: copy the folder in, or import it by its own path`,
      )
    }
    if (!isMarkdownName(entry.name) || entry.isDirectory()) continue
    files.push({ root, path, sourceName: nameWithin(root, entry), mediaType: MEDIA_TYPES.markdown })
    if (files.length > BOUNDS.sourceFilesMax)
      throw new OperatorError(`${root} holds more than ${BOUNDS.sourceFilesMax} Markdown files: import it in parts`)
  }
  if (files.length === 0)
    throw new OperatorError(
      `${root} holds no Markdown file (*.md, *.markdown): name another folder, or choose the jsonl format`,
    )
  return files.sort((a, b) => (a.sourceName < b.sourceName ? -1 : 1))
}

/**
 * Lists the files that an import of this folder leaves out because they are not Markdown: names as in
 * `listSourceFiles`, sorted. Hidden files, and files in hidden folders, are not part of a corpus. A JSONL corpus is one
 * file and leaves nothing out.
 */
export async function listFilesLeftOut(path: string, format: SourceFormat): Promise<readonly string[]> {
  const root = await existing(path)
  if (format !== 'markdown' || (await stat(root)).isFile()) return []
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => (entry.isFile() || entry.isSymbolicLink()) && !isMarkdownName(entry.name))
    .map((entry) => nameWithin(root, entry))
    .filter((name) => !name.split('/').some((part) => part.startsWith('.')))
    .sort()
}

export function isMarkdownName(name: string): boolean {
  return /\.(md|markdown)$/i.test(name)
}

function nameWithin(root: string, entry: Dirent): string {
  return relative(root, join(entry.parentPath, entry.name)).split(sep).join('/')
}
