import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { foldKey } from '#core/identity/fold.ts'
import { canonicalJson, sha256 } from '#core/platform/digest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { digestFile } from '#core/platform/hashed-file.ts'
import { corpusFolderAt } from '#law/import/corpus/corpus-folder.ts'
import { proposeSource } from '#law/import/corpus/propose-source.ts'
import { cloneAt } from '#law/sources/git/clone.ts'
import { openObjects } from '#law/sources/git/objects.ts'
import { SOURCE_YAML, visibleFiles } from '#law/sources/list.ts'

export type DemoCorpus = ReturnType<typeof corpusAt>

const RULEBOOK = fileURLToPath(new URL('./corpus/', import.meta.url))

const namedKnowledgeBase = z.object({ knowledge_base: z.object({ slug: z.string(), title: z.string() }).optional() })

/** Returns the built-in rulebook of a fictional regulator. */
export function builtInCorpus(): DemoCorpus {
  return {
    slug: 'hsfa-rulebook',
    title: 'Rulebook of the Halden Straits Financial Authority',
    source: join(RULEBOOK, 'rulebook'),
    folder: RULEBOOK,
    mappingFile: undefined,
    questionsFile: join(RULEBOOK, 'questions.jsonl'),
  }
}

/** Returns the corpus of a user's folder. @throws OperatorError naming what is missing. */
export function corpusAt(path: string) {
  const { source, folder, mappingFile } = corpusFolderAt(path)
  const name = basename(folder)
  const named = mappingFile === undefined ? undefined : namedIn(mappingFile)
  const questions = join(folder, 'questions.jsonl')
  return {
    slug:
      named?.slug ??
      `own-${foldKey(name)
        .replaceAll(/[^a-z0-9]+/g, '-')
        .replaceAll(/^-|-$/g, '')}`.slice(0, 63),
    title: named?.title ?? name,
    source,
    /** The source, or the folder of its file. */
    folder,
    /** Undefined for Markdown with the built-in mapping. */
    mappingFile,
    questionsFile: existsSync(questions) ? questions : undefined,
  }
}

/** A line without a value, but for what may be empty; what is of one file has a comment behind it. */
const TO_FILL = /^ *(?!subjects:|files:)[a-z_]+:(?:  #.*)?$/gm

/**
 * Writes the `source.yaml` of a folder of law whose files do not state all that is needed.
 * @returns what an editor must fill, where it wrote one.
 */
export async function proposeStated(path: string): Promise<string | undefined> {
  const { source, folder, mappingFile } = corpusFolderAt(path)
  const file = join(folder, SOURCE_YAML)
  if (source !== folder || mappingFile !== undefined || existsSync(file)) return undefined
  const { yaml, sentences } = await proposeSource(folder)
  const count = yaml.match(TO_FILL)?.length ?? 0
  if (count === 0) return undefined
  writeFileSync(file, yaml, { flag: 'wx' })
  const lines = `${count} ${count === 1 ? 'line' : 'lines'} to fill, then start again`
  return [`Wrote ${file}: ${lines}.`, ...sentences].join('\n')
}

function namedIn(mappingFile: string): z.infer<typeof namedKnowledgeBase>['knowledge_base'] {
  try {
    return namedKnowledgeBase.parse(JSON.parse(readFileSync(mappingFile, 'utf8'))).knowledge_base
  } catch (cause) {
    throw new OperatorError(
      `The mapping ${mappingFile} cannot be read: make it a JSON object like those in law/import/corpus/mappings.`,
      { cause },
    )
  }
}

/**
 * Returns the SHA-256 over names and bytes of everything that an import and its build can read: each file of the folder
 * that is not hidden, since a report names those that are left out too, the mapping and the questions.
 */
export async function corpusDigest({ source, folder, mappingFile, questionsFile }: DemoCorpus): Promise<string> {
  const clone = cloneAt(source)
  const isFolder = clone === undefined && statSync(source).isDirectory()
  const names = isFolder ? [] : clone === undefined ? [basename(source), SOURCE_YAML] : [SOURCE_YAML]
  if (isFolder) for await (const { name } of visibleFiles(source)) names.push(name)
  const read = names.sort().map((name) => [name, join(isFolder ? source : folder, name)] as const)
  const digests: [string, string | null][] = clone === undefined ? [] : [[source, await headOf(clone.path)]]
  for (const [name, path] of [...read, ['mapping', mappingFile] as const, ['questions', questionsFile] as const]) {
    const isFile = path !== undefined && statSync(path, { throwIfNoEntry: false })?.isFile() === true
    digests.push([name, isFile ? (await digestFile(path)).sha256 : null])
  }
  return sha256(canonicalJson(digests)).toString('hex')
}

async function headOf(clone: string): Promise<string> {
  await using objects = await openObjects(clone)
  return objects.head
}
