import { importedVersions } from '#core/db/sources.ts'
import { OperatorError } from '#core/platform/errors.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { importCaptured, type Imported, type OnProgress } from '#jobs/capture/import-captured.ts'
import { mappingOf } from '#law/import/corpus/corpus-mapping.ts'
import { readMapping } from '#law/import/mapping/mapping.ts'
import type { ImportReport } from '#law/import/report/report.ts'
import { captureSources } from '#law/sources/capture.ts'
import { captureClone, cloneAt } from '#law/sources/git/clone.ts'
import { listSource, type SourceFormat } from '#law/sources/list.ts'
import { knowledgeBaseNamed } from './names.ts'
import type { Operator } from './operator.ts'

export interface ImportInput {
  readonly knowledgeBase: string
  /** A file or a folder of law, or the location of a clone; JSONL is `corpus.jsonl` or its parts `corpus-1.jsonl` …. */
  readonly source: string
  /** Path of a mapping file; without one the files and a `source.yaml` beside them say all. */
  readonly mapping?: string | undefined
  /** Names of losses, beside those that the mapping accepts. */
  readonly acceptLoss?: readonly string[] | undefined
  readonly store: ArtifactStore
  readonly onProgress?: OnProgress
  /** Aborted: the import ends, and nothing of it is recorded. */
  readonly signal?: AbortSignal
}

/** A name that the operator gives and that accepts nothing is misspelt. A mapping may name losses of other files too. */
function assertEachAccepts(names: readonly string[], { losses }: ImportReport): void {
  const lost = new Set(losses.map(({ name }) => name))
  const unused = names.filter((name) => !lost.has(name))
  if (unused.length > 0)
    throw new OperatorError(
      `Nothing is imported, because ${unused.length} names of --accept-loss match no loss, first "${unused[0]}": ` +
        'correct or remove them. Then import again.',
    )
}

/**
 * Imports a corpus: capture → parse → record. The exact bytes are in the store before anything else happens.
 * @throws OperatorError as `importCaptured` does.
 */
export async function importCorpus({ database, actor }: Operator, input: ImportInput): Promise<Imported> {
  const { store, onProgress = () => undefined } = input
  const knowledgeBase = await knowledgeBaseNamed(database, input.knowledgeBase)
  const described = input.mapping === undefined ? await mappingOf(input.source) : await readMapping(input.mapping)
  // The build reads the sources with the stored mapping, and reports the same losses as accepted.
  const accepted_losses = [...new Set([...described.accepted_losses, ...(input.acceptLoss ?? [])])]
  const mapping = { ...described, accepted_losses }
  const known = cloneAt(input.source) && (await importedVersions(database, knowledgeBase.id))
  const { sources, leftOut } = await capture(mapping.format, input, known)
  const accept = (report: ImportReport): void => assertEachAccepts(input.acceptLoss ?? [], report)
  const stopped = input.signal === undefined ? {} : { signal: input.signal }
  const captured = { knowledgeBase, mapping, sources, leftOut, actor, accept, onProgress, ...stopped }
  return await importCaptured({ database, store }, captured)
}

/** @param known see `captureClone`. */
async function capture(format: SourceFormat, input: ImportInput, known: readonly string[] | undefined) {
  const { source, store, signal, onProgress = () => undefined } = input
  onProgress('capturing bytes', 0, 0)
  const stopped = signal === undefined ? {} : { signal }
  const clone = cloneAt(source)
  if (clone !== undefined)
    return { sources: await captureClone(store, clone, { ...stopped, onProgress, known }), leftOut: [] }
  const { files, leftOut } = await listSource(source, format)
  let bytes = 0
  const onBytes = (read: number): void => onProgress('capturing bytes', (bytes += read), 0)
  return { sources: await captureSources(store, files, { ...stopped, onBytes }), leftOut }
}
