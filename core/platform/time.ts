/** A UTC day, without leap seconds. */
export const DAY_MS = 86_400_000

export function utcDay(time: Date): string {
  return time.toISOString().slice(0, 10)
}
