/** A UTC day, without leap seconds. */
export const DAY_MS = 86_400_000
