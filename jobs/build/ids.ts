import { derivedUuid } from '#core/platform/ids.ts'

/** Ids that follow from the build, so that a run that starts over makes the same version. */
export function versionIdOf(buildId: string): string {
  return derivedUuid('version', buildId)
}

export function projectionIdOf(buildId: string): string {
  return derivedUuid('projection', buildId)
}

export function profileIdOf(buildId: string): string {
  return derivedUuid('profile', buildId)
}
