import { createReadStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { z } from 'zod'
import type { SignedStore } from '#core/index/format/store.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { openHashedFile } from '#core/platform/hashed-file.ts'
import { assertArtifactAsRecorded, checkFile, type ReviewedFile } from '#jobs/review/files.ts'
import { versionRowNamed } from './names.ts'
import type { Operator } from './operator.ts'

/**
 * Finds a file of the report of a version, and checks its bytes and those of the artifact that it describes.
 * @throws OperatorError when a file is missing, or does not have the digest that was recorded with the version.
 */
export async function reportSource(
  { database }: Operator,
  store: SignedStore,
  { version: id, part }: { readonly version: string; readonly part: ReviewedFile },
) {
  const version = await versionRowNamed(database, id)
  await assertArtifactAsRecorded(store, version)
  const { state, path } = await checkFile(store, version, part)
  if (state === 'as recorded') return { version_id: version.id, path }
  const faults = {
    altered: `The ${part} file of the version is altered: restore the file from a backup, or build the version again.`,
    missing:
      `The ${part} file of this version cannot be read from the artifact store: see that ARTIFACT_STORE is the one ` +
      'of the job worker, or build the version again.',
    'not recorded': 'The version was compared with no other, so there is no list of changes.',
  }
  throw new OperatorError(faults[state])
}

const FAULTS: Readonly<Record<string, string>> = {
  EEXIST: 'exists already: name another file, or remove it first',
  EISDIR: 'is a folder: name a file in it',
  ENOENT: 'is in a folder that does not exist: create the folder, or name another file',
}

/** Copies a file of the report to a new file; an existing one is left alone. */
export async function copyReport({ version_id, path }: Awaited<ReturnType<typeof reportSource>>, file: string) {
  await using copy = await openHashedFile(file).catch((error: unknown) => {
    const fault = FAULTS[z.object({ code: z.string() }).safeParse(error).data?.code ?? '']
    if (fault === undefined) throw error
    throw new OperatorError(`${file} ${fault}.`, { cause: error })
  })
  try {
    await streamReport(path, (bytes) => copy.write(bytes))
    const { bytes } = await copy.finish()
    return { version_id, file, bytes }
  } catch (error) {
    await rm(file, { force: true })
    throw error
  }
}

/** Passes the bytes of a file on, block by block. */
export async function streamReport(path: string, write: (bytes: Uint8Array) => Promise<void>): Promise<void> {
  for await (const block of createReadStream(path)) await write(z.instanceof(Buffer).parse(block))
}
