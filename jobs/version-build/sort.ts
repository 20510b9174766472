import { mkdir, readFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { facetsSchema } from '#core/index/facets/layout.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { referencesSchema } from '#core/index/references/layout.ts'
import { writeDurably } from '#core/platform/durable-file.ts'
import { actsOf, facetsOf } from '#law/import/staging/facets-and-acts.ts'
import { recordsInRowOrder } from '#law/import/staging/rows.ts'
import { z } from 'zod'
import type { BuildContext } from './context.ts'
import { RUN_FILES, withImportedCorpus, writeRevisions } from './read-import.ts'
import type { ImportContext, ImportedCorpus } from './read-import.ts'
import { replaceLines } from './row-files.ts'

const corpusSchema = z.strictObject({
  passages: z.int().positive(),
  facets: facetsSchema,
  acts: referencesSchema.shape.acts,
  /** Passages that were left out, because they are withdrawn. */
  withdrawn: z.int().nonnegative(),
  /** Ids of withdrawals that left nothing out. */
  withdrawals_without_passages: z.array(z.uuid()),
  snapshotsDigest: z.string(),
})
/**
 * Summary of a build's passages; documents and revisions have files of their own. Its file is written last, so its
 * presence means that the others are complete.
 */
export type Corpus = z.infer<typeof corpusSchema>

export function passagesFile(workFolder: string): string {
  return join(workFolder, 'passages.jsonl')
}

function markerFile(workFolder: string): string {
  return join(workFolder, 'corpus.json')
}

/** Imports and sorts, unless an earlier run of this build, or the capture that asked for it, has done both. */
export async function preparePassages(context: BuildContext): Promise<Corpus> {
  await context.progress.begin('import', 0)
  const known = await readFile(markerFile(context.workFolder), 'utf8').catch(() => undefined)
  return known === undefined ? (await sortPassages(context)).corpus : corpusSchema.parse(JSON.parse(known))
}

/**
 * Imports and sorts. Leaves every passage on disk in the artifact's row order, and the rows of documents and revisions
 * beside them.
 */
export async function sortPassages(context: ImportContext) {
  await mkdir(context.workFolder, { recursive: true })
  await removeRunFiles(context.workFolder)
  const sorted = await withImportedCorpus(context, async (imported) => {
    const { report, dropped, staging } = imported
    const passages = report.passages - dropped.passages
    const [facets, acts] = dropped.passages === 0 ? [report.facets, report.acts] : [facetsOf(staging), actsOf(staging)]
    await context.progress.begin('sort', passages)
    await writeRevisions(context, imported)
    await writeSorted(context, imported)
    const corpus = {
      passages,
      facets,
      acts,
      withdrawn: dropped.passages,
      withdrawals_without_passages: [...dropped.withoutPassages],
      snapshotsDigest: imported.snapshotsDigest,
    }
    return { corpus, report }
  })
  await writeDurably(markerFile(context.workFolder), JSON.stringify(sorted.corpus))
  await removeRunFiles(context.workFolder)
  return sorted
}

/** Removes the files of runs that ended or were killed. */
async function removeRunFiles(workFolder: string): Promise<void> {
  for (const name of await readdir(workFolder))
    if (RUN_FILES.test(name)) await rm(join(workFolder, name), { force: true })
}

async function writeSorted(context: ImportContext, imported: ImportedCorpus): Promise<void> {
  let row = 0
  await replaceLines(context, passagesFile(context.workFolder), sortedPassages(imported), () =>
    context.progress.at((row += 1), imported.report.passages - imported.dropped.passages),
  )
}

function* sortedPassages({ staging, passages, dropped }: ImportedCorpus): Generator<PassageRecord> {
  for (const kept of recordsInRowOrder(staging)) {
    for (const passage of passages.passagesOf(kept)) {
      if (dropped.chunkIds.has(passage.chunk_id)) continue
      // The import checked the record, and the artifact's writer checks it again.
      const { ordinal, document_key: _, effective_to: __, lineage: ___, ...record } = passage
      const document = { ...passage.document, revision_id: kept.revision_id }
      yield { ...record, document, position: { ordinal, document_passages: kept.document_passages } }
    }
  }
}
