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

/** Why a file is left out, by the format of the corpus. */
export const LEFT_OUT_REASONS = {
  jsonl: 'not part of the corpus (corpus.jsonl, corpus-<digits>.jsonl in the folder itself)',
  markdown: 'not a Markdown file (*.md, *.markdown)',
  law: 'no file of law, by its name',
} as const satisfies Record<SourceFormat, string>

/**
 * True if a file that is left out may be meant as a part of the corpus: beside JSONL what is named like a corpus,
 * beside Markdown what may hold prose. `queries.jsonl` and `logo.png` belong beside a corpus.
 */
export function mayBelongToCorpus(name: string, format: SourceFormat): boolean {
  switch (format) {
    case 'jsonl':
      return isNamedLikeCorpus(name)
    case 'markdown':
      return !NO_PROSE.test(name)
    case 'law':
      return /\.jsonl$/i.test(name)
    default:
      return format satisfies never
  }
}

const NO_PROSE = new RegExp(String.raw`\.(?:${ENDINGS.join('|')})$`, 'i')

function isNamedLikeCorpus(name: string): boolean {
  return foldKey(basename(name)).startsWith('corpus')
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
  const names: string[] = []
  const leftOut: string[] = []
  for await (const { name, entry } of visibleFiles(root, roots)) {
    // Below roots a link is refused when it is opened, whatever it leads to.
    if (roots === 'own rights') await assertNoLinkedFolder(root, name, entry)
    if (name === SOURCE_YAML) continue
    const kind = kindOf(format, name, entry)
    if (kind === 'corpus') names.push(name)
    else if (kind === 'left out') leftOut.push(name)
    if (names.length + leftOut.length > SOURCE_BOUNDS.sourceFilesMax)
      throw new OperatorError(`${root} holds more than ${SOURCE_BOUNDS.sourceFilesMax} files: import it in parts`)
  }
  if (names.length === 0) throw new OperatorError(`${root} ${NOTHING_TO_READ[format]}`)
  return { files: names.sort().map((name) => fileOf(root, name)), leftOut: leftOut.sort() }
}

const NOTHING_TO_READ = {
  jsonl: 'holds no corpus.jsonl and no corpus-<digits>.jsonl: name the JSONL file itself, or another folder',
  markdown: 'holds no Markdown file (*.md, *.markdown): name another folder',
  law: 'holds no file of law: name another folder; JSONL is corpus.jsonl, with --mapping or a source.yaml of "import init"',
} as const satisfies Record<SourceFormat, string>

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

type FileKind = 'corpus' | 'left out' | 'no file'

function kindOf(format: SourceFormat, name: string, entry: Dirent): FileKind {
  switch (format) {
    case 'jsonl':
      return jsonlKind(name)
    case 'markdown':
      return regularKind(entry, isMarkdownName(name))
    case 'law':
      return regularKind(entry, !NO_PROSE.test(name))
    default:
      return format satisfies never
  }
}

function jsonlKind(name: string): FileKind {
  if (/^corpus(?:-\d+)?\.jsonl$/i.test(name)) return 'corpus'
  return isNamedLikeCorpus(name) || /\.jsonl$/i.test(name) ? 'left out' : 'no file'
}

async function assertNoLinkedFolder(root: string, name: string, entry: Dirent): Promise<void> {
  const path = join(root, name)
  if (entry.isSymbolicLink() && (await stat(path).catch(() => undefined))?.isDirectory() === true)
    throw new OperatorError(
      `${path} is a link to a folder, which is not followed: copy the folder in, or import it by its own path`,
    )
}

function regularKind(entry: Dirent, isCorpus: boolean): FileKind {
  if (!entry.isFile() && !entry.isSymbolicLink()) return 'no file'
  return isCorpus ? 'corpus' : 'left out'
}

export function isMarkdownName(name: string): boolean {
  return /\.(md|markdown)$/i.test(name)
}
