import { readFile, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { readVersion } from '#core/db/versions.ts'
import { sha256 } from '#core/platform/digest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { versionNamed } from './names.ts'
import type { Operator } from './operator.ts'

export interface ReportCopied {
  readonly version_id: string
  readonly file: string
  readonly bytes: number
}

/**
 * Returns the exact bytes of the evaluation report of a version, with its id.
 * @throws OperatorError also when the bytes do not have the digest that was recorded with the version. The version of
 * an earlier release has none.
 */
export async function readReport(
  { database }: Operator,
  store: ArtifactStore,
  version: string,
): Promise<{ readonly id: string; readonly page: Buffer }> {
  const { id } = await versionNamed(database, version)
  const page = await readFile(store.reportFile(id)).catch((cause: unknown) => {
    throw new OperatorError(
      'The report of this version cannot be read from the artifact store: see that ARTIFACT_STORE is the one of the ' +
        'job worker, or build the version again.',
      { cause },
    )
  })
  const recorded = (await readVersion(database, id))?.report_sha256 ?? null
  if (recorded !== null && sha256(page).toString('hex') !== recorded)
    throw new OperatorError(
      'The report file of the version is altered: restore the file from a backup, or build the version again.',
    )
  return { id, page }
}

const FAULTS: Readonly<Record<string, string>> = {
  EEXIST: 'exists already: name another file, or remove it first',
  EISDIR: 'is a folder: name a file in it',
  ENOENT: 'is in a folder that does not exist: create the folder, or name another file',
}

/** Copies the report to a new file; an existing one is left alone. */
export async function copyReport(
  operator: Operator,
  store: ArtifactStore,
  { version, file }: { readonly version: string; readonly file: string },
): Promise<ReportCopied> {
  const { id, page } = await readReport(operator, store, version)
  try {
    await writeFile(file, page, { flag: 'wx' })
  } catch (error) {
    const fault = FAULTS[z.object({ code: z.string() }).safeParse(error).data?.code ?? '']
    if (fault === undefined) throw error
    throw new OperatorError(`${file} ${fault}.`, { cause: error })
  }
  return { version_id: id, file, bytes: page.length }
}
