import { readFileSync } from 'node:fs'
import { z } from 'zod'

declare const brand: unique symbol

/** Three whole numbers, `major.minor.patch`, without a pre-release. */
export type Release = string & { readonly [brand]: 'Release' }

export const releaseSchema = z
  .string()
  .regex(/^(?:0|[1-9]\d{0,5})(?:\.(?:0|[1-9]\d{0,5})){2}$/)
  .transform((text) => text as Release)

/** The release that runs: the version in package.json. */
export const RELEASE = z
  .object({ version: releaseSchema })
  .parse(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))).version

/** Negative if `a` is the older release, positive if it is the newer one. */
export function compareReleases(a: Release, b: Release): number {
  const [left, right] = [a.split('.').map(Number), b.split('.').map(Number)]
  const differing = left.findIndex((part, index) => part !== right[index])
  return differing === -1 ? 0 : (left[differing] ?? 0) - (right[differing] ?? 0)
}
