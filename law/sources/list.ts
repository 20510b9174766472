import type { Dirent } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { foldKey } from '#core/identity/fold.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { SOURCE_BOUNDS } from './bounds.ts'
import TYPES from './media-types.json' with { type: 'json' }
import { assertWithin, entriesWithin, type SourceRoots } from './roots.ts'
import ENDINGS from './no-prose.json' with { type: 'json' }

/** `law`: published law in any format that a reader recognises. */
export const SOURCE_FORMATS = ['jsonl', 'markdown', 'law'] as const
export type SourceFormat = (typeof SOURCE_FORMATS)[number]

const MEDIA_TYPES: Readonly<Record<string, string>> = TYPES

/** The media type that the name of a file says; a reader goes by the content. */
export function mediaTypeOf(name: string): string {
  return MEDIA_TYPES[foldKey(/\.([a-z]+)$/i.exec(name)?.[1] ?? '')] ?? 'application/octet-stream'
}

/** What an operator states of the files of a folder: it is no source itself. */
export const SOURCE_YAML = 'source.yaml'

/** A local file to capture: `path` must lie inside `root` once links are followed. */
export interface SourceFile {
  readonly root: string
  readonly path: string
  /** `path` relative to `root`, with forward slashes. */
  readonly sourceName: string
  readonly mediaType: string
  /** Where it may be opened; with own rights if absent. */
  readonly roots?: SourceRoots
}

const NO_PROSE = new RegExp(String.raw`\.(?:${ENDINGS.join('|')})$`, 'i')
const isJsonl = (name: string): boolean => /\.jsonl$/i.test(name)
const mayHoldProse = (name: string): boolean => !NO_PROSE.test(name)
const isNamedLikeCorpus = (name: string): boolean => foldKey(basename(name)).startsWith('corpus')
export const isMarkdownName = (name: string): boolean => /\.(md|markdown)$/i.test(name)

interface FormatOfSources {
  /** Whether a file of this name belongs to the corpus. */
  readonly isCorpus: (name: string) => boolean
  /** Whether a file that does not may be meant as a part of it: `queries.jsonl` and `logo.png` belong beside a corpus. */
  readonly mayBelong: (name: string) => boolean
  readonly leftOut: string
  readonly nothingToRead: string
}

export const FORMATS_OF_SOURCES: Readonly<Record<SourceFormat, FormatOfSources>> = {
  jsonl: {
    isCorpus: (name) => /^corpus(?:-\d+)?\.jsonl$/i.test(name),
    mayBelong: isNamedLikeCorpus,
    leftOut: 'not part of the corpus (corpus.jsonl, corpus-<digits>.jsonl in the folder itself)',
    nothingToRead: 'holds no corpus.jsonl and no corpus-<digits>.jsonl: name the JSONL file itself, or another folder',
  },
  markdown: {
    isCorpus: isMarkdownName,
    mayBelong: mayHoldProse,
    leftOut: 'not a Markdown file (*.md, *.markdown)',
    nothingToRead: 'holds no Markdown file (*.md, *.markdown): name another folder',
  },
  law: {
    isCorpus: mayHoldProse,
    mayBelong: isJsonl,
    leftOut: 'no file of law, by its name',
    nothingToRead:
      'holds no file of law: name another folder; JSONL is corpus.jsonl, with --mapping or a source.yaml of "import init"',
  },
}

/**
 * Lists a source, which is one file or a folder. In a folder, JSONL is `corpus.jsonl` and its parts `corpus-1.jsonl`,
 * with any number; every other file of the tree that is named like a corpus, or `*.jsonl`, is left out. Markdown is
 * every `*.md` and `*.markdown` of the tree; every other file is left out. Law is every file whose name says no
 * picture, data or program. Case does not matter. A file or folder below the source whose name begins with a dot is no
 * part of the corpus: it is neither read nor listed. A link counts by its own name. A file without front matter is
 * captured too, so that the import reports it. What is listed and what is left out are sorted by name.
 * @throws OperatorError when there is nothing to read, a link leads to a folder, or the source is outside the roots.
 */
export async function listSource(path: string, format: SourceFormat, roots: SourceRoots = 'own rights') {
  await assertWithin(path, roots)
  const root = await existing(path)
  const fileOf = (folder: string, name: string): SourceFile => ({
    root: folder,
    path: join(folder, name),
    sourceName: name,
    mediaType: format === 'law' ? mediaTypeOf(name) : mediaTypeOf(`.${format}`),
    roots,
  })
  const found = await stat(root)
  if (found.isFile()) return { files: [fileOf(dirname(root), basename(root))], leftOut: [] }
  if (!found.isDirectory()) throw new OperatorError(`${root} is no regular file and no folder: name another one`)
  const { isCorpus, nothingToRead } = FORMATS_OF_SOURCES[format]
  const names: string[] = []
  const leftOut: string[] = []
  for await (const { name, entry } of visibleFiles(root, roots)) {
    // Below roots a link is refused when it is opened, whatever it leads to.
    if (roots === 'own rights') await assertNoLinkedFolder(root, name, entry)
    if (name === SOURCE_YAML) continue
    const isFile = entry.isFile() || entry.isSymbolicLink()
    const isListed = format === 'jsonl' ? isNamedLikeCorpus(name) || isJsonl(name) : isFile
    if (isListed) (isCorpus(name) ? names : leftOut).push(name)
    if (names.length + leftOut.length > SOURCE_BOUNDS.sourceFilesMax)
      throw new OperatorError(`${root} holds more than ${SOURCE_BOUNDS.sourceFilesMax} files: import it in parts`)
  }
  if (names.length === 0) throw new OperatorError(`${root} ${nothingToRead}`)
  return { files: names.sort().map((name) => fileOf(root, name)), leftOut: leftOut.sort() }
}

async function existing(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (cause) {
    throw new OperatorError(`cannot read ${path}: name an existing file or folder`, { cause })
  }
}

/** Yields what is no folder, named by its path below the root with forward slashes. Hidden folders are not entered. */
export async function* visibleFiles(
  root: string,
  roots: SourceRoots = 'own rights',
): AsyncGenerator<{ readonly name: string; readonly entry: Dirent }> {
  const folders = ['']
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of await entriesWithin(resolve(root, folder), roots)) {
      if (entry.name.startsWith('.')) continue
      const name = `${folder}${entry.name}`
      if (entry.isDirectory()) folders.push(`${name}/`)
      else yield { name, entry }
    }
  }
}

async function assertNoLinkedFolder(root: string, name: string, entry: Dirent): Promise<void> {
  const path = join(root, name)
  if (entry.isSymbolicLink() && (await stat(path).catch(() => undefined))?.isDirectory() === true)
    throw new OperatorError(
      `${path} is a link to a folder, which is not followed: copy the folder in, or import it by its own path`,
    )
}
