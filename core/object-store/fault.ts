import { z } from 'zod'
import { StoreError } from '#core/platform/errors.ts'

/** What the SDK and the sockets below it say of a failure. */
const failureSchema = z.object({
  name: z.string(),
  message: z.string(),
  code: z.string().optional(),
  $metadata: z.object({ httpStatusCode: z.int().optional() }).optional(),
})

/** Takes a status for an answer: no such object, or another one than the condition states. */
export function orUndefined(...answers: readonly number[]): (error: unknown) => undefined {
  return (error) => {
    const { name, $metadata } = failureSchema.safeParse(error).data ?? {}
    if (!answers.includes($metadata?.httpStatusCode ?? 0) || name === 'NoSuchBucket') throw error
    return undefined
  }
}

/** The codes with which servers refuse credentials; some come with 400. */
const CREDENTIALS =
  /^(?:CredentialsProviderError|ExpiredToken|ExpiredTokenException|InvalidAccessKeyId|InvalidToken|SignatureDoesNotMatch|TokenRefreshRequired)$/

/** Returns one sentence about a failed call: what is wrong, and what to do. */
export function faultOf(error: unknown, bucket: string, key: string): StoreError {
  if (error instanceof StoreError) return error
  const failure = failureSchema.safeParse(error).data
  const status = failure?.$metadata?.httpStatusCode
  const code = failure?.code ?? failure?.name ?? 'unknown'
  const lasting = (message: string): StoreError => new StoreError(message, { cause: error })
  if (CREDENTIALS.test(code) || status === 401)
    return lasting(
      `The object store refuses the credentials (${code}): correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the ` +
        'profile or role that the AWS SDK finds.',
    )
  if (status === 403)
    return lasting(
      `The object store refuses access to ${key} in the bucket ${bucket}: check secret and rights of these credentials.`,
    )
  if (code === 'NoSuchBucket')
    return lasting(`The object store has no bucket ${bucket}: create it, or correct ARTIFACT_STORE.`)
  if (failure?.message === 'Region is missing')
    return lasting('AWS_REGION is not set: set it to the region of the bucket, or to any where there is one.')
  const passing = status === undefined || status >= 500 || [400, 408, 409, 429].includes(status)
  const said = status === undefined ? `does not answer for ${key} (` : `failed on ${key} (${status} `
  const todo =
    status === undefined ? 'check that it runs and that AWS_ENDPOINT_URL_S3 names it' : 'read its log, then try again'
  return new StoreError(`The object store ${said}${code}): ${todo}.`, { cause: error, passing })
}
