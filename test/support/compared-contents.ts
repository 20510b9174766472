import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Facets } from '#core/index/facets/layout.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { createPassagesWriter } from '#core/index/passages/writer.ts'
import { sha256 } from '#core/platform/digest.ts'
import { derivedUuid } from '#core/platform/ids.ts'
import { namedChangeSchema, type NamedChange } from '#jobs/evaluation/compare/changes-file.ts'
import type { ComparedContents } from '#jobs/evaluation/compare/compared-passages.ts'
import { compareContents } from '#jobs/evaluation/compare/contents.ts'
import { openChangesRecorder } from '#jobs/evaluation/compare/recorder.ts'
import { testManifest } from './artifact.ts'

export type ComparedPassages = Awaited<ReturnType<typeof comparePassages>>

/** Compares two versions that hold the given passages, in the given row order. */
export async function comparePassages(
  before: readonly PassageRecord[],
  after: readonly PassageRecord[],
  signal = new AbortController().signal,
  onProgress: (done: number, total: number, folder: string) => void = () => undefined,
) {
  const folder = mkdtempSync(join(tmpdir(), 'evidence-compare-'))
  const changesFile = join(folder, 'version.changes.jsonl')
  await using recorder = await openChangesRecorder(changesFile)
  using ending = new DisposableStack()
  ending.defer(() => rmSync(folder, { recursive: true, force: true }))
  await compareContents({
    before: written(join(folder, 'before'), before),
    after: written(join(folder, 'after'), after),
    sortFile: join(folder, 'comparison.sqlite'),
    recorder,
    signal,
    onProgress: (done, total) => onProgress(done, total, folder),
  })
  return {
    ...(await recorder.finish()),
    /** Every line of the changes file. */
    named: changesNamed(changesFile),
    bytes: readFileSync(changesFile, 'utf8'),
  }
}

/** Every line of a changes file. */
export function changesNamed(path: string): readonly NamedChange[] {
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => namedChangeSchema.parse(JSON.parse(line)))
}

/** The file of an artifact that the comparison reads. */
function written(folder: string, passages: readonly PassageRecord[]): ComparedContents {
  mkdirSync(folder)
  const writer = createPassagesWriter(passages.length)
  const bytes = Buffer.concat(passages.map((passage, row) => writer.add(row, passage)))
  writeFileSync(join(folder, 'passages.jsonl'), bytes)
  const versionId = derivedUuid('test version', folder)
  const { files, ...manifest } = testManifest(versionId)
  const file = { bytes: bytes.length, sha256: sha256(bytes).toString('hex') }
  return {
    versionId,
    folder,
    manifest: { ...manifest, passages: passages.length, files: { ...files, 'passages.jsonl': file } },
    facets: facetsOf(passages),
  }
}

function facetsOf(passages: readonly PassageRecord[]): Facets {
  const values = (of: (passage: PassageRecord) => readonly string[]): string[] =>
    [...new Set(passages.flatMap(of))].sort()
  return {
    languages: values(({ metadata }) => [metadata.language]),
    jurisdictions: values(({ metadata }) => [metadata.jurisdiction]),
    subjects: values(({ subjects }) => subjects),
    statuses: [...new Set(passages.map(({ metadata }) => metadata.verification_status))].sort(),
  }
}
