import { createHash } from 'node:crypto'
import {
  contradictsStatus,
  inForceFrom,
  isPastVersion,
  isPublished,
  lastDayOf,
  metadataOf,
  standingOf,
} from '#law/readers/markdown-fields.ts'
import { DAY_MS } from '#core/platform/time.ts'
import { dayIn } from '#law/readers/format.ts'
import type { Commit } from './history.ts'

/** A file of law as one commit has it. */
export interface Version {
  readonly path: string
  readonly commit: Commit
  readonly blob: string
  readonly front: ReadonlyMap<string, string>
  /** Of the text below the front matter. */
  readonly digest: string
  /** Why its file is held back whole: without it, another version would be law for too long. */
  readonly fault: string | undefined
}

/** A text of an act that is law from a day on. */
export interface Revision extends Version {
  /** Day, YYYY-MM-DD. */
  readonly from: string
  /** First day on which it is law no more. */
  readonly until: string | undefined
}

/** A version that becomes no revision, and why. */
export type HeldVersion = Pick<Version, 'path' | 'commit' | 'front'> & Readonly<{ reason: string }>

/** Whether a commit has a version of a file, and does not remove it. */
function isVersion(change: Version | Commit): change is Version {
  return 'blob' in change
}

const FRONT = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)^(?:---|\.\.\.)[ \t]*\r?$/m

/** @param read the bytes of the file, or why they are not read. */
export function versionOf(path: string, commit: Commit, blob: string, read: Buffer | Error): Version {
  const text = read instanceof Error ? '' : read.toString('utf8')
  const found = FRONT.exec(text)
  const body = text.slice(found === null ? 0 : found[0].length)
  const digest = createHash('sha256').update(body).digest('base64')
  // A copy: each value would otherwise keep the whole text in memory.
  const front = metadataOf(Buffer.from(found?.[1] ?? '').toString())
  return { path, commit, blob, front, digest, fault: read instanceof Error ? read.message : endFault(front) }
}

function endFault(front: ReadonlyMap<string, string>): string | undefined {
  try {
    return void lastDayOf(front)
  } catch (error) {
    return error instanceof Error ? error.message : ''
  }
}

/** Commits that replace a text and state no day of their own, and those that end one; the older words are Spanish. */
const REPLACES = /^(?:correction|correccion|fix-pipeline)$/
const REPEALS = /^(?:repeal|derogacion)$/

/** A version at its place among the days, or the end of the one before it. */
type Dated = Readonly<{ version: Version; from: string; isEnd: boolean }>

/**
 * Returns the revisions of one file, of its versions in the order of their commits; a version is undefined where the
 * commit removes the file. A revision ends with the day that its publisher states, at the latest where the next begins.
 */
export function revisionsOf(versions: readonly (Version | Commit)[]) {
  const held: HeldVersion[] = []
  const hold = ({ path, commit, front }: Version, reason: string): void =>
    void held.push({ path, commit, front, reason })
  const fault = versions.flatMap((each) => (isVersion(each) && each.fault) || [])[0]
  if (fault !== undefined)
    return { revisions: [], held: versions.filter(isVersion).map((each) => ({ ...each, reason: fault })) }
  let dated: Dated[] = []
  for (const version of versions) {
    const last = dated.at(-1)
    if (!isVersion(version)) {
      if (last !== undefined) dated.push({ ...last, from: version.sourceDate ?? last.from, isEnd: true })
      continue
    }
    const replaced = REPLACES.test(version.commit.kind) ? correctedBy(version, dated) : undefined
    const reason = faultOf(version)
    if (reason !== undefined) hold(version, reason)
    else if (replaced !== undefined && !isEnd(version)) {
      hold(replaced.version, `replaced by the correction of commit ${version.commit.id}`)
      dated[dated.indexOf(replaced)] = { ...replaced, version }
    } else dated.push(datedVersion(version, last))
  }
  dated = withoutRepeats(
    dated.toSorted((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0)),
    hold,
  )
  const revisions = dated.flatMap(({ version, from, isEnd: isOver }, index) => {
    const ends = [dayAfter(lastDayOf(version.front)), dated[index + 1]?.from]
    const until = ends.filter((day) => day !== undefined).toSorted()[0]
    if (isOver) return []
    if (until === undefined || until > from) return [{ ...version, from, until }]
    hold(version, `its last day is before its first day ${from}`)
    return []
  })
  return { revisions, held }
}

/** The text that a correction replaces: that of its own day, else the last one. */
function correctedBy({ front }: Version, dated: readonly Dated[]): Dated | undefined {
  const texts = dated.filter((each) => !each.isEnd)
  return texts.findLast(({ from }) => from === inForceFrom(front)) ?? texts.at(-1) ?? dated.at(-1)
}

function faultOf({ front, commit }: Version): string | undefined {
  if (!isPublished(front)) return 'its front matter lacks identifier, country, rank or source'
  if (inForceFrom(front) === undefined && !(REPEALS.test(commit.kind) && commit.sourceDate !== undefined))
    return 'it states no day from which it is in force (last_updated)'
  return undefined
}

/** Whether a version says that the act is law no more, and no day up to which this text was. */
function isEnd({ front, commit }: Version): boolean {
  // Publishers mark a version that was law until a stated day as repealed once another one follows.
  const wasLaw = isPastVersion(front) || (lastDayOf(front) !== undefined && front.get('status') !== 'annulled')
  return REPEALS.test(commit.kind) || (standingOf(front) !== undefined && !wasLaw && !contradictsStatus(front))
}

function datedVersion(version: Version, last: Dated | undefined): Dated {
  const stated = inForceFrom(version.front) ?? ''
  if (!isEnd(version)) return { version, from: stated, isEnd: false }
  // A repeal that keeps the day of the text before it says by its trailer when it was published.
  const days = [stated, dayAfter(lastDayOf(version.front)), version.commit.sourceDate]
  const later = days.find((day) => day !== undefined && day !== '' && (last === undefined || day > last.from))
  return { version, from: later ?? last?.from ?? stated, isEnd: true }
}

/** Of versions of one day the last counts, and equal texts that follow each other are the first of them. */
function withoutRepeats(dated: readonly Dated[], hold: (version: Version, reason: string) => void): Dated[] {
  const kept: Dated[] = []
  for (const next of dated) {
    const last = kept.at(-1)
    if (last?.from === next.from) {
      if (last.version !== next.version)
        hold(last.version, `commit ${next.version.commit.id} has the same day ${next.from}`)
      kept.splice(-1, 1, next)
    } else if (last !== undefined && !last.isEnd && !next.isEnd && isContinued(last, next)) {
      // The days that its publisher states last are those of the newer version.
      hold(next.version, `the same text as commit ${last.version.commit.id}`)
      kept.splice(-1, 1, { ...last, version: { ...last.version, front: next.version.front } })
    } else kept.push(next)
  }
  const served = new Set(kept.flatMap(({ version, isEnd: ends }) => (ends ? [] : [version])))
  for (const { version, isEnd: ends } of kept) if (ends && !served.has(version)) hold(version, endReason(version))
  return kept
}

function endReason({ front, commit }: Version): string {
  if (REPEALS.test(commit.kind)) return `a ${commit.kind} ends the act`
  const standing = standingOf(front)
  return standing === undefined
    ? 'the file is removed, or the act ended, on no stated day'
    : `it is no law: ${standing}`
}

/** Whether a version repeats the text of the one before it, without a gap between their days. */
function isContinued({ version }: Dated, { version: next, from }: Dated): boolean {
  const end = dayAfter(lastDayOf(version.front))
  return version.digest === next.digest && (end === undefined || end >= from)
}

function dayAfter(day: string | undefined): string | undefined {
  return day === undefined ? undefined : dayIn(new Date(Date.parse(`${day}T00:00:00Z`) + DAY_MS).toISOString())
}
