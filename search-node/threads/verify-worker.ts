import { ArtifactError } from '#core/index/artifact-error.ts'
import type { Manifest } from '#core/index/format/manifest.ts'
import { verifyArtifact } from '#core/index/format/verify.ts'

export interface VerifyTask {
  readonly folder: string
  readonly publicKeysDer: readonly Uint8Array[]
  readonly digest: Uint8Array
}

/** An error loses its class between threads, so a fault is returned as a value. */
export type Verified = { readonly manifest: Manifest } | { readonly fault: string; readonly absent: boolean }

/**
 * Verifies an artifact. Hashing a large one takes seconds, so it runs on a thread apart from the event loop and
 * scoring.
 */
export async function verify({ folder, publicKeysDer, digest }: VerifyTask): Promise<Verified> {
  try {
    return { manifest: await verifyArtifact(folder, publicKeysDer, digest) }
  } catch (error) {
    if (error instanceof ArtifactError) return { fault: error.message, absent: error.absent }
    throw error
  }
}
