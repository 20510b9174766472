import { createHash } from 'node:crypto'
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { foldKey } from '#core/identity/fold.ts'
import { sha256 } from '#core/platform/digest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { corpusFolderAt } from '#law/import/corpus/corpus-folder.ts'
import { isMarkdownName } from '#law/sources/list.ts'

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
 * Returns the corpus of a user's folder.
 * @throws OperatorError naming what is missing.
 */
export function corpusAt(path: string): DemoCorpus {
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
    mappingFile,
    questionsFile: existsSync(questions) ? questions : undefined,
  }
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
