import { mkdir, open, readFile, readdir, rm } from 'node:fs/promises'
import { closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import { BOUNDS } from '#core/platform/bounds.ts'
import { facetsSchema } from '#core/index/facets/layout.ts'
import { passageRecordSchema } from '#core/index/passages/record.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { referencesSchema } from '#core/index/references/layout.ts'
import { rowOrder } from '#core/index/format/row-order.ts'
import { renameDurably, writeDurably } from '#core/platform/durable-file.ts'
import type { BuildContext } from './context.ts'
import { readImportedCorpus } from './read-import.ts'
import type { ImportedCorpus, SpilledPassage } from './read-import.ts'

const corpusSchema = z.strictObject({
  passages: z.int().positive(),
  documents: z.array(z.strictObject({ id: z.uuid(), key: z.string() })),
  revisions: z.array(
    z.strictObject({
      id: z.uuid(),
      documentId: z.uuid(),
      snapshotId: z.uuid(),
      title: z.string(),
      publishedAt: z.string(),
      effectiveAt: z.string(),
      effectiveTo: z.string().nullable(),
      contentSha256: z.string(),
      lineage: z.unknown(),
    }),
  ),
  facets: facetsSchema,
  acts: referencesSchema.shape.acts,
  snapshotsDigest: z.string(),
})
/** Summary of a build's passages. Its file is written last, so its presence means that `passages.jsonl` is complete. */
export type Corpus = z.infer<typeof corpusSchema>

export function passagesFile(workFolder: string): string {
  return join(workFolder, 'passages.jsonl')
}

/**
 * Imports and sorts, unless an earlier run of this build has done both. Leaves every passage on disk in the artifact's
 * row order.
 */
export async function preparePassages(context: BuildContext): Promise<Corpus> {
  const marker = join(context.workFolder, 'corpus.json')
  await context.progress.begin('import', 0)
  const known = await readFile(marker, 'utf8').catch(() => undefined)
  if (known !== undefined) return corpusSchema.parse(JSON.parse(known))
  await mkdir(context.workFolder, { recursive: true })
  await removeSpillFiles(context.workFolder)
  const imported = await readImportedCorpus(context)
  await context.progress.begin('sort', imported.passages.length)
  await writeSorted(context, imported)
  const { documents, facets, acts, snapshotsDigest } = imported
  const corpus: Corpus = {
    passages: imported.passages.length,
    documents: [...documents],
    revisions: [...imported.revisions],
    facets,
    acts: acts.map(({ id, aliases }) => ({ id, aliases: [...aliases] })),
    snapshotsDigest,
  }
  await writeDurably(marker, JSON.stringify(corpus))
  await removeSpillFiles(context.workFolder)
  return corpus
}

/** Removes the unfinished files of killed runs. */
async function removeSpillFiles(workFolder: string): Promise<void> {
  for (const name of await readdir(workFolder))
    if (/^(drafts|passages)\.\d+\.jsonl$/.test(name)) await rm(join(workFolder, name), { force: true })
}

async function writeSorted(context: BuildContext, imported: ImportedCorpus): Promise<void> {
  const ordered = imported.passages.toSorted(rowOrder)
  const temporary = join(context.workFolder, `passages.${context.fence.attempt}.jsonl`)
  const out = await open(temporary, 'w')
  const spillFile = openSync(imported.spillFile, 'r')
  try {
    let lines: string[] = []
    for (const [row, passage] of ordered.entries()) {
      lines.push(`${JSON.stringify(recordOf(readDraft(spillFile, passage), passage, imported))}\n`)
      if (lines.length < BOUNDS.sortYieldEveryRows && row + 1 < ordered.length) continue
      await out.writeFile(lines.join(''))
      lines = []
      context.progress.at(row + 1, ordered.length)
      context.signal.throwIfAborted()
      await nextTurn()
    }
    await out.sync()
  } finally {
    closeSync(spillFile)
    await out.close()
  }
  await renameDurably(temporary, passagesFile(context.workFolder))
}

function readDraft(spillFile: number, { offset, bytes }: SpilledPassage): unknown {
  const line = Buffer.allocUnsafe(bytes)
  if (readSync(spillFile, line, 0, bytes, offset) !== bytes) throw new Error('the spill file of drafts ends early')
  return JSON.parse(line.toString('utf8'))
}

const draftRecordSchema = passageRecordSchema.omit({ place: true }).strip()

function recordOf(draft: unknown, passage: SpilledPassage, { documentPassages }: ImportedCorpus): PassageRecord {
  const record = draftRecordSchema.parse(draft)
  const { revision_id } = passage.document
  const place = { ordinal: passage.place.ordinal, document_passages: documentPassages.get(record.document.id) ?? 1 }
  return { ...record, document: { ...record.document, revision_id }, place }
}
