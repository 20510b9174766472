import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { OperatorError } from '#core/platform/errors.ts'
import { metadataOf, isPublished } from '#law/readers/markdown-fields.ts'
import { cloneLocation } from '#law/sources/git/clone.ts'
import { SOURCE_YAML } from '#law/sources/list.ts'

const MAPPINGS = fileURLToPath(new URL('./mappings/', import.meta.url))

/**
 * Finds the mapping of a user's corpus. It is `mapping.json` in the folder. Otherwise `corpus.jsonl` uses the built-in
 * mapping with the folder's name; Markdown needs none: its files, and a `source.yaml` beside them, say all.
 * @returns its absolute path or the location of a clone, the folder that holds it, and how its records are read.
 * @throws OperatorError naming what is missing.
 */
export function corpusFolderAt(path: string) {
  const source = resolve(path)
  if (!existsSync(source))
    throw new OperatorError(`There is no corpus at ${path}: name a folder with corpus.jsonl or Markdown files.`)
  const folder = statSync(source).isDirectory() ? source : resolve(source, '..')
  if (isCloneOfLaw(source)) return { source: cloneLocation({ path: source }), folder, mappingFile: undefined }
  const own = join(folder, 'mapping.json')
  const builtIn = join(MAPPINGS, `${basename(folder)}.json`)
  const isJsonl = existsSync(join(folder, 'corpus.jsonl'))
  const mappingFile = existsSync(own) ? own : isJsonl && existsSync(builtIn) ? builtIn : undefined
  if (mappingFile === undefined && !existsSync(join(folder, SOURCE_YAML)) && (folder !== source || isJsonl))
    throw new OperatorError(
      `${path} holds corpus.jsonl but no mapping.json: let "operator import init" write a source.yaml that says where ` +
        'citation, dates, language and jurisdiction are.',
    )
  return { source, folder, mappingFile }
}

/** Whether a folder is a clone of published law: it has no work tree, a manifest, or a file with such front matter. */
export function isCloneOfLaw(folder: string): boolean {
  if (existsSync(join(folder, 'HEAD')) && existsSync(join(folder, 'objects'))) return true
  if (!existsSync(join(folder, '.git')) || existsSync(join(folder, 'corpus.jsonl'))) return false
  // A clone without a checkout has its objects alone.
  const visible = readdirSync(folder).some((name) => !name.startsWith('.'))
  if (!visible || existsSync(join(folder, '.legalize.yml'))) return true
  const [first] = globSync('*/*.md', { cwd: folder })
  return first !== undefined && isPublished(metadataOf(readFileSync(join(folder, first), 'utf8').slice(0, 16_384)))
}
