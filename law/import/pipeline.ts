import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { readSplits, readTotals } from '#law/import/staging/kept-records.ts'
import type { Staging } from '#law/import/staging/staging.ts'
import { actsOf, facetsOf } from './staging/facets-and-acts.ts'
import type { StagedRecordsFile } from './passage/staged-records-file.ts'
import { Findings } from './report/findings.ts'
import { locationOf, type ImportReport } from './report/report.ts'
import { findContradictions, orderRecords } from './passage/resolve-conflicts.ts'
import { stageSources, type StageInput } from './passage/stager.ts'

/**
 * Reads the sources into the staging file, then resolves what all records together decide: contradictions, ends and
 * ordinals. Every stage yields its findings, which the report collects. The same snapshots and mapping give the same
 * passages.
 * @throws OperatorError when the sources contradict each other, or the mapping yields too many facet values, acts or
 * aliases.
 */
export async function readSources(
  input: StageInput,
  staging: Staging,
  file?: StagedRecordsFile,
): Promise<ImportReport> {
  const findings = new Findings(input.mapping)
  for await (const finding of stageSources(input, staging, file)) findings.add(finding)
  for (const finding of findContradictions(staging, input)) findings.add(finding)
  findings.assertNoContradiction()
  for (const finding of orderRecords(staging, input)) findings.add(finding)
  findings.assertNoContradiction()
  return findings.report({
    totals: readTotals(staging),
    splits: readSplits(staging, IMPORT_BOUNDS.reportEntriesMax).map(({ parts, ...location }) => ({
      ...locationOf(input.snapshots, location),
      parts,
    })),
    acts: actsOf(staging),
    facets: facetsOf(staging),
  })
}
