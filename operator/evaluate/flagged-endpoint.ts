import { join } from 'node:path'
import { OperatorError } from '#core/platform/errors.ts'
import { secretVariable, userCacheFolder } from '#jobs/platform/config.ts'
import type { ModelRole } from './about.ts'

/** The address is a URL, or a file of what was recorded. */
type EndpointFlags = Readonly<Record<'address' | 'model' | 'keyEnv' | 'cache', string | undefined>>

/**
 * Returns the endpoint of a model, and the file that keeps what it gives; undefined without one.
 * @throws OperatorError where flags do not belong together, or the variable of the key is not set.
 */
export function flaggedEndpoint(role: ModelRole, { address: url, model, keyEnv, cache }: EndpointFlags) {
  const isUrl = url !== undefined && /^https?:\/\//.test(url)
  if (isUrl !== (model !== undefined))
    throw new OperatorError(`--${role} URL needs --${role}-model NAME, and what is recorded in a file has no model.`)
  if (!isUrl || model === undefined) return undefined
  const key = keyEnv === undefined ? undefined : secretVariable(keyEnv)
  return { model, url, key, file: cache ?? join(userCacheFolder(), `${role}.jsonl`) }
}
