import { derivedUuid } from '#core/platform/ids.ts'

/** Ids are derived from the build's id, so that a repeated run makes the same version. */
export function versionIdOf(buildId: string): string {
  return derivedUuid('version', buildId)
}

export function profileIdOf(buildId: string): string {
  return derivedUuid('profile', buildId)
}
