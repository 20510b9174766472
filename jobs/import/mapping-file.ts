import { readFile } from 'node:fs/promises'
import { OperatorError } from '#core/platform/errors.ts'
import { parseMapping } from './mapping.ts'
import type { Mapping } from './mapping.ts'

/** @throws OperatorError when the file cannot be read, is not JSON, or is not a usable mapping. */
export async function readMapping(path: string): Promise<Mapping> {
  const contents = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new OperatorError(`The mapping file ${path} cannot be read: check its path and rights.`, { cause })
  })
  try {
    return parseMapping(JSON.parse(contents))
  } catch (cause) {
    if (cause instanceof SyntaxError)
      throw new OperatorError(`The mapping file ${path} is not JSON: correct it and import again.`, { cause })
    throw cause
  }
}
