import type { PlanLimits } from './quota-plan.ts'

/** One served passage that counts towards the exposure. */
export interface ServedPassage {
  readonly chunk: string
  readonly document: string
  /** Passages of the document in the version that served it. */
  readonly total: number
}

/** Where serving stops, in passages, and how many are forgotten with each UTC day. */
type ExposureMark = ReturnType<typeof documentMark>

type ExposureMarks = ReturnType<typeof exposureMarks>

/** Small corpora cannot afford a mark of their own size; below this part of the floor the rate stays as it is. */
const SOFT_FLOOR_PART = 0.2
/** Part of the floors that the test environment has: for other questions than those of an integration test. */
const TEST_FLOOR_PART = 0.2

/** What the marks depend on besides the plan. */
export interface Exposed {
  readonly environment: string
  readonly corpusPassages: number
  /** Passages that an operator allows beyond every mark. */
  readonly exposureAllowance: number
}

export function exposureMarks(
  exposure: PlanLimits['exposure'],
  { environment, corpusPassages, exposureAllowance }: Exposed,
) {
  const test = environment === 'test'
  const part = test ? exposure.test_share : 1
  const floorOf = (floor: number): number => (test ? Math.ceil(floor * TEST_FLOOR_PART) : floor)
  const corpusFloor = floorOf(exposure.floors.corpus)
  const documentFloor = floorOf(exposure.floors.document)
  const dailyFloor = test ? 1 : exposure.floors.daily
  const larger = (share: number, floor: number): number => Math.max(Math.floor(share * part * corpusPassages), floor)
  return {
    windowDays: exposure.window_days,
    corpus: {
      /** From here on the rate is lower. */
      soft: larger(exposure.soft_share, Math.ceil(corpusFloor * SOFT_FLOOR_PART)) + exposureAllowance,
      hard: larger(exposure.hard_share, corpusFloor) + exposureAllowance,
      daily: larger(exposure.daily_share, dailyFloor),
    },
    /** Of each document: the larger of its share and its floor, in the same way for what is forgotten each day. */
    document: {
      share: exposure.document_share * part,
      floor: documentFloor,
      dailyShare: exposure.document_daily_share * part,
      dailyFloor,
      /** Part of the mark from which the rate is lower. */
      softPart: exposure.soft_share / exposure.hard_share,
    },
  }
}

/** @param passages of the document. */
export function documentMark({ document }: ExposureMarks, passages: number, exposureAllowance: number) {
  return {
    hard: Math.max(Math.floor(document.share * passages), document.floor) + exposureAllowance,
    daily: Math.max(Math.floor(document.dailyShare * passages), document.dailyFloor),
  }
}

/**
 * The exposure of a day: new passages of the days until then, of which `daily` are forgotten with each day. It stays
 * below a mark where every row of days within the window has fewer than the mark, and `daily` more for each day.
 * @param newOnDay new passages by UTC day, in days since 1970-01-01.
 */
export function exposureLevel(newOnDay: ReadonlyMap<number, number>, today: number, windowDays: number, daily: number) {
  let level = 0
  for (let day = today - windowDays; day <= today; day++) level = Math.max(0, level - daily) + (newOnDay.get(day) ?? 0)
  return level
}

/** The first day on which the exposure is below the mark again, if nothing new is served until then. */
export function exposureOpensOn(
  newOnDay: ReadonlyMap<number, number>,
  today: number,
  windowDays: number,
  { hard, daily }: ExposureMark,
): number {
  let day = today + 1
  while (exposureLevel(newOnDay, day, windowDays, daily) >= hard) day++
  return day
}
