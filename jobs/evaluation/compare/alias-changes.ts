import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ArtifactError } from '#core/index/artifact-error.ts'
import { referencesSchema, type ActEntry } from '#core/index/references/layout.ts'
import { actNamed, createActAliases } from '#law/citations/parser.ts'
import type { Side } from '#core/db/version-differences.ts'
import { sha256 } from '#core/platform/digest.ts'
import type { NamedChange } from './changes-file.ts'
import type { ComparedContents } from './compared-passages.ts'
import { damagedArtifact } from '#jobs/evaluation/altered-candidate.ts'

/**
 * Reads the acts of an artifact with their names.
 * @throws OperatorError if the file is not the one of the signed manifest.
 */
export async function readActs(side: Side, { folder, versionId, manifest }: ComparedContents) {
  const bytes = await readFile(join(folder, 'references.json')).catch(() => undefined)
  if (bytes === undefined || sha256(bytes).toString('hex') !== manifest.files['references.json'].sha256)
    throw damagedArtifact(
      side,
      versionId,
      new ArtifactError('references.json does not have the SHA-256 that the manifest states.'),
    )
  return referencesSchema.parse(JSON.parse(bytes.toString('utf8'))).acts
}

/**
 * Yields every name of an act that was given, taken away, or that means another act in a question. A name that meant
 * nothing and now means an act that only the candidate holds is an addition.
 */
export function* aliasChanges(before: readonly ActEntry[], after: readonly ActEntry[]): Generator<NamedChange> {
  const [own, other] = [namesOf(before), namesOf(after)]
  const held = new Set(before.map(({ id }) => id))
  for (const name of [...new Set([...own.acts.keys(), ...other.acts.keys()])].toSorted()) {
    const [meant, means] = [actNamed(name, own.aliases) ?? null, actNamed(name, other.aliases) ?? null]
    if (meant === means && own.acts.get(name) === other.acts.get(name)) continue
    const isAddition = meant === null && means !== null && !held.has(means)
    yield { kind: isAddition ? 'aliases_added' : 'aliases_changed', name, before: meant, after: means }
  }
}

/** @returns `acts` that have a name, as JSON. */
function namesOf(acts: readonly ActEntry[]) {
  const pairs = acts.flatMap(({ id, aliases }) => [id, ...aliases].map((name) => [name, id] as const))
  const byName = Map.groupBy(pairs, ([name]) => name)
  return {
    aliases: createActAliases(pairs),
    acts: new Map([...byName].map(([name, held]) => [name, JSON.stringify(held.map(([, id]) => id).toSorted())])),
  }
}
