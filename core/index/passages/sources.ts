import { ArtifactError } from '#core/index/artifact-error.ts'
import { canonicalJson } from '#core/platform/digest.ts'
import { z } from 'zod'
import { passageRecordSchema, type PassageRecord } from './record.ts'
import { closeSync } from 'node:fs'
import { join } from 'node:path'
import type { FileDigest } from '#core/platform/hashed-file.ts'
import { openLines, verifiedLines } from '#core/index/storage/verified-lines.ts'

const factsSchema = z.strictObject({
  id: z.uuid(),
  source_name: z.string(),
  media_type: z.string(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: z.int().nonnegative(),
  /** ISO 8601 UTC, and the command that captured it; null: not on record. */
  captured_at: z.string().nullable(),
  captured_by: z.string().nullable(),
  /** Null: the mapping states none. */
  licence: z.string().nullable(),
})
/** What is known of a captured source. */
export type SourceFacts = z.infer<typeof factsSchema>

const { document, in_force_from, in_force_to } = passageRecordSchema.shape
const revisionSchema = document.extend({
  in_force_from,
  in_force_to,
  derived: z.record(z.string(), z.string()),
  passages: z.int().positive(),
})

/** One line of `sources.jsonl`: a snapshot, and the revisions that were read from it. */
export const sourceSchema = factsSchema.extend({ revisions: z.array(revisionSchema) })
export type Source = z.infer<typeof sourceSchema>

/** Derived fields of a revision by its id. */
export type DerivedFields = ReadonlyMap<string, Readonly<Record<string, string>>>

export function createSourcesWriter(sources: readonly SourceFacts[], derived: DerivedFields) {
  const revisions = new Map(sources.map(({ id }) => [id, new Map<string, Source['revisions'][number]>()]))
  return {
    /** @throws ArtifactError for a passage of a snapshot that is not among the sources. */
    add({ chunk_id, citation, document: shown, in_force_from: from, in_force_to: to }: PassageRecord) {
      const held = revisions.get(citation.source_snapshot_id)
      if (held === undefined) throw new ArtifactError(`Passage ${chunk_id} is of a snapshot that is no source.`)
      const known = held.get(shown.revision_id)
      if (known !== undefined) known.passages++
      else
        held.set(shown.revision_id, {
          ...shown,
          in_force_from: from,
          in_force_to: to,
          derived: { ...derived.get(shown.revision_id) },
          passages: 1,
        })
    },
    /** One canonical JSON a line, in the order of ids. */
    *finish() {
      for (const facts of sources.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
        const source = { ...facts, revisions: [...(revisions.get(facts.id)?.values() ?? [])] }
        yield Buffer.from(`${canonicalJson(sourceSchema.parse(source))}\n`)
      }
    },
  }
}

const NAME = 'sources.jsonl'

/**
 * Streams the sources of a version.
 * @param expected digest of `sources.jsonl` that the signed manifest states.
 * @throws ArtifactError at the end, if what was read is not what the manifest states.
 */
export async function* sourcesIn(folder: string, expected: FileDigest): AsyncGenerator<Source> {
  using opened = new DisposableStack()
  const file = opened.adopt(openLines(join(folder, NAME), NAME), closeSync)
  for await (const { line } of verifiedLines(file, expected, NAME))
    yield sourceSchema.parse(JSON.parse(line.toString('utf8')))
}
