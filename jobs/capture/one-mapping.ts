import { stat } from 'node:fs/promises'
import type { SourceRow } from '#core/db/sources.ts'
import { canonicalJson } from '#core/platform/digest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { statedMapping } from '#law/import/corpus/corpus-mapping.ts'
import { parseMapping, type Mapping } from '#law/import/mapping/mapping.ts'
import { NOTHING_STATED, readSourceYaml } from '#law/import/corpus/source-yaml.ts'
import { assertWithin, type SourceRoots } from '#law/sources/roots.ts'

type Mapped = Pick<SourceRow, 'name' | 'location' | 'mapping'>

/**
 * Returns how the files of a source are read now.
 * @throws OperatorError for a `source.yaml` that is not understood, and for a place outside the roots.
 */
export async function mappingOfSource({ location, mapping }: Mapped, roots: SourceRoots): Promise<Mapping> {
  if (mapping !== null) return parseMapping(mapping)
  return statedMapping((await readSourceYaml(location, roots)) ?? NOTHING_STATED)
}

/**
 * Returns the mapping with which all sources of a knowledge base are imported. A folder that this machine cannot see, or
 * that is outside the roots, was read with it when its source was added or captured.
 * @throws OperatorError for several.
 */
export async function oneMappingOf([first, ...others]: readonly [Mapped, ...Mapped[]], roots: SourceRoots) {
  const mapping = await mappingOfSource(first, roots)
  for (const other of others) {
    const seen = await assertWithin(other.location, roots)
      .then(() => stat(other.location))
      .catch(() => undefined)
    if (
      (other.mapping !== null || seen !== undefined) &&
      canonicalJson(await mappingOfSource(other, roots)) !== canonicalJson(mapping)
    )
      throw new OperatorError(
        `The source "${other.name}" is read with another mapping than "${first.name}", and all are imported together: ` +
          'state everything in one source.yaml, and name it with --source-yaml for each of them.',
      )
  }
  return mapping
}
