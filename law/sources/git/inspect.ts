import { utcDay } from '#core/platform/time.ts'
import { contradictsStatus, standingOf, unreadStanding } from '#law/readers/markdown-fields.ts'
import { readClone, type CloneSource, type OnCloneProgress } from './clone.ts'

export type CloneInspection = Awaited<ReturnType<typeof inspectClone>>

export interface CloneGroup {
  readonly country: string
  readonly rank: string
  readonly acts: number
  readonly revisions: number
  /** Revisions that are law today, and those that are law from a later day on. */
  readonly in_force: number
  readonly later: number
  /** Why others are not served, and how many. */
  readonly not_served: Record<string, number>
}

/**
 * Returns what of a clone would be served, by country and rank, as `operator inspect` shows it.
 * @throws OperatorError as `readClone` does.
 */
export async function inspectClone(
  source: CloneSource,
  onProgress: OnCloneProgress,
  today: string = utcDay(new Date()),
) {
  const { commits, revisions, held } = await readClone(source, { onProgress })
  const groups = new Map<string, CloneGroup & { acts: number; revisions: number; in_force: number; later: number }>()
  const groupOf = (front: ReadonlyMap<string, string>): NonNullable<ReturnType<typeof groups.get>> => {
    const [country, rank] = [front.get('country') ?? '', front.get('rank') ?? '']
    const key = JSON.stringify([country, rank])
    const found = groups.get(key) ?? { country, rank, acts: 0, revisions: 0, in_force: 0, later: 0, not_served: {} }
    groups.set(key, found)
    return found
  }
  const count = (counts: Record<string, number>, reason: string): void =>
    void (counts[reason] = (counts[reason] ?? 0) + 1)
  const acts = new Set<string>()
  for (const { path, front, from, until } of revisions) {
    const group = groupOf(front)
    if (!acts.has(path)) group.acts += 1
    acts.add(path)
    group.revisions += 1
    const [loss] = unreadStanding(front, until !== undefined)
    if (until !== undefined && until <= today) count(group.not_served, 'ended')
    else if ((until === undefined || contradictsStatus(front)) && standingOf(front) !== undefined)
      count(group.not_served, 'a key of the country says that it is no law in force, and no version follows')
    else if (loss !== undefined) count(group.not_served, `${loss}, unless that loss is accepted`)
    else if (from > today) group.later += 1
    else group.in_force += 1
  }
  for (const { front, reason } of held) count(groupOf(front).not_served, reason.replaceAll(/[0-9a-f]{40,64}/g, '…'))
  return { path: source.path, commits: commits.size, groups: [...groups.values()] }
}
