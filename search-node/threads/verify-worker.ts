import { ArtifactError } from '#core/index/artifact-error.ts'
import type { Manifest } from '#core/index/format/manifest.ts'
import { verifyArtifact } from '#core/index/format/verify.ts'

export interface VerifyTask {
  readonly folder: string
  readonly publicKeyDer: Uint8Array
  readonly digest: Uint8Array
}

/** The class of an error is lost between threads, so what does not hold is a value. */
export type Verified = { readonly manifest: Manifest } | { readonly fault: string }

/** Hashing a large artifact takes seconds: it has a thread of its own, apart from the event loop and from scoring. */
export async function verify({ folder, publicKeyDer, digest }: VerifyTask): Promise<Verified> {
  try {
    return { manifest: await verifyArtifact(folder, Buffer.from(publicKeyDer), digest) }
  } catch (error) {
    if (error instanceof ArtifactError) return { fault: error.message }
    throw error
  }
}
