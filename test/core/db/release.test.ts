import { expect, test } from 'vitest'
import { compareReleases, releaseSchema } from '#core/db/release.ts'

test('releases are ordered by their numbers, not by their characters', () => {
  const ordered = ['0.2.0', '0.2.9', '0.2.10', '0.10.0', '1.0.0', '10.0.0'].map((text) => releaseSchema.parse(text))
  expect(ordered.toReversed().toSorted(compareReleases)).toEqual(ordered)
  for (const release of ordered) expect(compareReleases(release, release)).toBe(0)
})

test.each(['', '1', '1.2', '1.2.3.4', '01.2.3', '1.2.3-rc.1', 'v1.2.3', '1.2.3 '])('"%s" is not a release', (text) => {
  expect(releaseSchema.safeParse(text).success).toBe(false)
})
