import { createHash } from 'node:crypto'
import type { Hash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { BOUNDS } from '#core/platform/bounds.ts'
import type { Facets } from '#core/index/facets/layout.ts'
import { digestFile } from '#core/platform/hashed-file.ts'
import { sha256 } from '#core/platform/digest.ts'
import type { ActEntry } from '#core/index/references/layout.ts'
import type { PlacedPassage } from '#core/index/format/row-order.ts'
import type { DocumentRow, RevisionRow } from '#core/db/versions.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { derivedUuid } from '#core/platform/ids.ts'
import type { DraftPassage } from '#jobs/import/draft.ts'
import { parseMapping } from '#jobs/import/mapping.ts'
import { importSnapshots } from '#jobs/import/pipeline.ts'
import type { BuildContext } from './context.ts'

/** Position of one draft in the spill file, and every field that determines its row in the artifact. */
export interface SpilledPassage extends PlacedPassage {
  readonly offset: number
  readonly bytes: number
}

export interface ImportedCorpus {
  readonly spillFile: string
  readonly passages: readonly SpilledPassage[]
  readonly revisions: readonly RevisionRow[]
  readonly documents: readonly DocumentRow[]
  /** Passages of each document over all its revisions. */
  readonly documentPassages: ReadonlyMap<string, number>
  readonly facets: Facets
  readonly acts: readonly ActEntry[]
  /** SHA-256 (hex) over the sorted SHA-256 values of the snapshots. */
  readonly snapshotsDigest: string
}

/** One revision while its passages are read; its rows share these objects. */
interface OpenRevision {
  readonly first: DraftPassage
  readonly content: Hash
  readonly document: PlacedPassage['document']
}

/**
 * Reads the import again from its snapshots, after checking the SHA-256 of each. Writes the passages to the spill file
 * in the order of the sources. Only the position and sort fields of each passage stay in memory.
 */
export async function readImportedCorpus(context: BuildContext): Promise<ImportedCorpus> {
  const snapshots = await verifiedSnapshots(context)
  const path = join(context.workFolder, `drafts.${context.fence.attempt}.jsonl`)
  const drafts = importSnapshots({
    knowledgeBaseId: context.knowledgeBaseId,
    mapping: parseMapping(context.source.mapping),
    snapshots,
    signal: context.signal,
  })
  const revisions = new Map<string, OpenRevision>()
  const documents = new Map<string, DocumentRow>()
  const documentPassages = new Map<string, number>()
  const passages: SpilledPassage[] = []
  const shared = new Map<string, Pick<SpilledPassage, 'metadata' | 'subjects'>>()
  const spillFile = await openSpillFile(path)
  try {
    let step = await drafts.next()
    for (; step.done !== true; step = await drafts.next()) {
      const draft = step.value
      const revision = revisionOf(revisions, draft)
      revision.content.update(contentOf(draft))
      documents.set(draft.document.id, { id: draft.document.id, key: draft.document_key })
      documentPassages.set(draft.document.id, (documentPassages.get(draft.document.id) ?? 0) + 1)
      passages.push({
        ...sharedFields(shared, draft),
        document: revision.document,
        place: { ordinal: draft.ordinal, document_passages: 1 },
        ...(await spillFile.append(draft)),
      })
      context.progress.at(passages.length, 0)
    }
    await spillFile.flush()
    if (passages.length === 0)
      throw new OperatorError(
        'The import holds no passage: read its report, correct the sources or the mapping, import ' +
          'again and build from that.',
      )
    return {
      spillFile: path,
      passages,
      revisions: closeRevisions(revisions),
      documents: [...documents.values()],
      documentPassages,
      facets: step.value.facets,
      acts: step.value.acts,
      snapshotsDigest: digestOf(context),
    }
  } finally {
    await spillFile.close()
  }
}

/** Writes drafts to a file, one per line, in blocks of `spillBufferBytes`. */
interface SpillFile {
  /** Returns the draft's position in the file; the draft is on disk only after `flush`. */
  append(draft: DraftPassage): Promise<Pick<SpilledPassage, 'offset' | 'bytes'>>
  flush(): Promise<void>
  close(): Promise<void>
}

async function openSpillFile(path: string): Promise<SpillFile> {
  const file = await open(path, 'w')
  let waiting: Buffer[] = []
  let [written, collected] = [0, 0]
  async function flush(): Promise<void> {
    await file.writeFile(Buffer.concat(waiting))
    written += collected
    ;[waiting, collected] = [[], 0]
  }
  return {
    async append(draft) {
      const line = Buffer.from(`${JSON.stringify(draft)}\n`)
      const place = { offset: written + collected, bytes: line.length }
      waiting.push(line)
      collected += line.length
      if (collected >= BOUNDS.spillBufferBytes) await flush()
      return place
    },
    flush,
    close: () => file.close(),
  }
}

async function verifiedSnapshots({
  source,
  store,
}: BuildContext): Promise<readonly { id: string; sourceName: string; mediaType: string; path: string }[]> {
  const verified = []
  for (const { id, sourceName, mediaType, sha256: expected } of source.snapshots) {
    const path = store.snapshotFile(expected)
    const found = await digestFile(path).catch((cause: unknown) => {
      throw new OperatorError(
        `The snapshot of ${sourceName} is not in the artifact store: import the source again and build from that.`,
        { cause },
      )
    })
    if (found.sha256 !== expected)
      throw new OperatorError(
        `The snapshot of ${sourceName} was changed after it was captured: import the source again and build from that.`,
      )
    verified.push({ id, sourceName, mediaType, path })
  }
  return verified
}

function digestOf({ source }: BuildContext): string {
  const sorted = source.snapshots.map((snapshot) => snapshot.sha256).sort()
  return sha256(sorted.join('')).toString('hex')
}

function revisionOf(revisions: Map<string, OpenRevision>, draft: DraftPassage): OpenRevision {
  const { revision_id, title, authority, canonical_url } = draft.document
  const known = revisions.get(revision_id)
  if (known !== undefined) return known
  const content = createHash('sha256').update(
    JSON.stringify([title, authority, canonical_url, draft.effective_to, draft.lineage]),
  )
  const made = { first: draft, content, document: { ...draft.document } }
  revisions.set(revision_id, made)
  return made
}

/** Returns the fields that define a revision's content; a passage's id already depends on its text and place. */
function contentOf(draft: DraftPassage): string {
  return JSON.stringify([
    draft.ordinal,
    draft.chunk_id,
    draft.citation.label,
    draft.metadata,
    draft.subjects,
    draft.references,
  ])
}

/** Passages with equal fields share one object, since millions of rows have few combinations. */
function sharedFields(
  shared: Map<string, Pick<SpilledPassage, 'metadata' | 'subjects'>>,
  { metadata, subjects }: DraftPassage,
): Pick<SpilledPassage, 'metadata' | 'subjects'> {
  const key = JSON.stringify([metadata, subjects])
  const known = shared.get(key) ?? { metadata, subjects }
  shared.set(key, known)
  return known
}

/**
 * Sets the final id of each revision, which depends on its content too. A corrected text under the same dates is
 * another revision; an unchanged text is the same one. The passages share their revision's object, so all of them get
 * the id.
 */
function closeRevisions(revisions: ReadonlyMap<string, OpenRevision>): readonly RevisionRow[] {
  return [...revisions].map(([importedId, revision]) => {
    const row = revisionRow(importedId, revision)
    revision.document.revision_id = row.id
    return row
  })
}

function revisionRow(importedId: string, { first, content }: OpenRevision): RevisionRow {
  const contentSha256 = content.digest('hex')
  return {
    id: derivedUuid('revision', importedId, contentSha256),
    documentId: first.document.id,
    snapshotId: first.citation.source_snapshot_id,
    title: first.document.title,
    publishedAt: first.document.published_at,
    effectiveAt: first.document.effective_at,
    effectiveTo: first.effective_to,
    contentSha256,
    lineage: first.lineage,
  }
}
