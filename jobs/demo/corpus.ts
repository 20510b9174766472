import { createHash } from 'node:crypto'
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { sha256 } from '#core/platform/digest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { isMarkdownName } from '#jobs/sources/list.ts'

/** A corpus of the demo and its questions. */
export interface DemoCorpus {
  readonly slug: string
  readonly title: string
  readonly source: string
  /** Undefined for Markdown with the built-in mapping. */
  readonly mappingFile: string | undefined
  readonly questionsFile: string | undefined
}

const RULEBOOK = fileURLToPath(new URL('./corpus/', import.meta.url))
const MAPPINGS = fileURLToPath(new URL('../import/mappings/', import.meta.url))

const namedKnowledgeBase = z.object({ knowledge_base: z.object({ slug: z.string(), title: z.string() }).optional() })

/** Returns the built-in rulebook of a fictional regulator. */
export function builtInCorpus(): DemoCorpus {
  return {
    slug: 'hsfa-rulebook',
    title: 'Rulebook of the Halden Straits Financial Authority',
    source: join(RULEBOOK, 'rulebook'),
    mappingFile: undefined,
    questionsFile: join(RULEBOOK, 'questions.jsonl'),
  }
}

/**
 * Returns the corpus of a user's folder. Its mapping is `mapping.json` in the folder. Otherwise `corpus.jsonl` uses the
 * built-in mapping with the folder's name; Markdown needs none.
 * @throws OperatorError naming what is missing.
 */
export function corpusAt(path: string): DemoCorpus {
  const source = resolve(path)
  if (!existsSync(source))
    throw new OperatorError(`There is no corpus at ${path}: name a folder with corpus.jsonl or Markdown files.`)
  const folder = statSync(source).isDirectory() ? source : resolve(source, '..')
  const name = basename(folder)
  const own = join(folder, 'mapping.json')
  const builtIn = join(MAPPINGS, `${name}.json`)
  const isJsonl = existsSync(join(folder, 'corpus.jsonl'))
  const mappingFile = existsSync(own) ? own : isJsonl && existsSync(builtIn) ? builtIn : undefined
  if (mappingFile === undefined && (folder !== source || isJsonl))
    throw new OperatorError(
      `${path} holds corpus.jsonl but no mapping.json: add one that says where citation, dates, ` +
        'language and jurisdiction are (jobs/import/mappings has examples).',
    )
  const named = mappingFile === undefined ? undefined : namedIn(mappingFile)
  const questions = join(folder, 'questions.jsonl')
  return {
    slug:
      named?.slug ??
      `own-${name
        .toLowerCase()
        .replaceAll(/[^a-z0-9]+/g, '-')
        .replaceAll(/^-|-$/g, '')}`.slice(0, 63),
    title: named?.title ?? name,
    source,
    mappingFile,
    questionsFile: existsSync(questions) ? questions : undefined,
  }
}

function namedIn(mappingFile: string): z.infer<typeof namedKnowledgeBase>['knowledge_base'] {
  try {
    return namedKnowledgeBase.parse(JSON.parse(readFileSync(mappingFile, 'utf8'))).knowledge_base
  } catch (cause) {
    throw new OperatorError(
      `The mapping ${mappingFile} cannot be read: make it a JSON object like those in jobs/import/mappings.`,
      { cause },
    )
  }
}

/** Returns the SHA-256 over everything that a build of the corpus reads. */
export function corpusDigest(corpus: DemoCorpus): string {
  const folder = statSync(corpus.source).isDirectory()
  const sources = folder
    ? readdirSync(corpus.source, { recursive: true, encoding: 'utf8' })
        .filter((name) => isMarkdownName(name) || name.endsWith('.jsonl'))
        .sort()
        .map((name) => join(corpus.source, name))
    : [corpus.source]
  const hash = createHash('sha256')
  for (const file of [...sources, corpus.mappingFile, corpus.questionsFile])
    if (file !== undefined && statSync(file).isFile()) hash.update(sha256(readFileSync(file)))
  return hash.digest('hex')
}
