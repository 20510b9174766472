import { z } from 'zod'
import { StoreError } from '#core/platform/errors.ts'

/** What the SDK and the sockets below it say of a failure. */
const failureSchema = z.object({
  name: z.string(),
  message: z.string(),
  code: z.string().optional(),
  $metadata: z.object({ httpStatusCode: z.int().optional() }).optional(),
})

export function statusOf(error: unknown): number | undefined {
  return failureSchema.safeParse(error).data?.$metadata?.httpStatusCode
}

export function isCode(error: unknown, code: string): boolean {
  return failureSchema.safeParse(error).data?.name === code
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
  const said = status === undefined ? code : `${status} ${code}`
  return new StoreError(
    status === undefined
      ? `The object store does not answer for ${key} (${said}): check that it runs and that AWS_ENDPOINT_URL_S3 names it.`
      : `The object store failed on ${key} (${said}): read its log, then try again.`,
    { cause: error, passing },
  )
}
