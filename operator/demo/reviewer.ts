import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { SigningKey } from '#core/credentials/reviewer-keys.ts'
import type { Operator } from '#operator/actions/operator.ts'
import { addReviewer, readSigningKey, writeReviewerKey } from '#operator/actions/reviewers.ts'
import { readRegistry } from '#jobs/review/approvals.ts'

/** Returns the key of a local installation, which is its first reviewer. Both are made if there are none. */
export async function ensureReviewer(operator: Operator, keyFile: string): Promise<SigningKey> {
  if (!existsSync(keyFile)) {
    mkdirSync(dirname(keyFile), { recursive: true })
    await writeReviewerKey(keyFile)
  }
  const key = await readSigningKey(keyFile)
  const known = (await readRegistry(operator.database)).byPublicKey(key.publicKeyDer)
  if (known === undefined) await addReviewer(operator, { name: 'local reviewer', publicKey: key.publicKeyDer })
  return key
}
