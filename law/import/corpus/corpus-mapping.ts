import { open } from 'node:fs/promises'
import { isMarkdownName, listSource } from '#law/sources/list.ts'
import { READER_BOUNDS } from '#law/readers/bounds.ts'
import { recognised } from '#law/readers/read.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { hasOwnFields } from '../record/markdown/front-matter.ts'
import { lawMapping } from './law-mapping.ts'
import { MARKDOWN_MAPPING } from '../mapping/mapping.ts'
import type { Mapping } from '../mapping/mapping.ts'
import { recordsMapping } from './records-mapping.ts'
import { NOTHING_STATED, readSourceYaml } from './source-yaml.ts'
import type { SourceYaml } from './source-yaml.ts'

/**
 * Returns how the files of a source are read where no mapping is given: as its `source.yaml` says, else by their
 * content. Markdown with the documented front matter needs nothing else.
 * @throws OperatorError for a `source.yaml` that is not understood, and where there is nothing to read.
 */
export async function mappingOf(source: string): Promise<Mapping> {
  const stated = await readSourceYaml(source)
  if (stated !== undefined) return statedMapping(stated)
  return (await holdsLaw(source)) ? statedMapping(NOTHING_STATED) : MARKDOWN_MAPPING
}

/**
 * Returns how files are read of which a `source.yaml` states this. @throws OperatorError for rules that are not usable.
 */
export function statedMapping(stated: SourceYaml): Mapping {
  return stated.records === undefined ? lawMapping(stated) : recordsMapping(stated, stated.records)
}

/** Whether a source holds published law, and not only Markdown with the documented front matter. */
async function holdsLaw(source: string): Promise<boolean> {
  const { files } = await listSource(source, 'law')
  let ownFiles = 0
  for (const { path, sourceName } of files) {
    const head = await headOf(path)
    const format = recognised(sourceName, head)
    if (format !== undefined && format !== 'markdown') return true
    if (format === 'markdown' && hasOwnFields(head)) ownFiles += 1
  }
  return ownFiles === 0 && !files.some(({ sourceName }) => isMarkdownName(sourceName))
}

async function headOf(path: string): Promise<Buffer> {
  const file = await open(path, 'r').catch((cause: unknown) => {
    throw new OperatorError(`cannot read ${path}: check its path and rights`, { cause })
  })
  try {
    const head = Buffer.alloc(READER_BOUNDS.probeBytes)
    const { bytesRead } = await file.read(head, 0, head.length, 0)
    return head.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}
