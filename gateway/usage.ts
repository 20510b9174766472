import { DAY_MS } from '#core/platform/time.ts'
import { GATEWAY_BOUNDS } from './bounds.ts'
import type { LimitUsage } from './retrieve/request-context.ts'

/** Usage of the limits by entitlement, as admissions tell it. */
export type UsageBoard = ReturnType<typeof createUsageBoard>

const dayOf = (ms: number): number => Math.floor(ms / DAY_MS)

export function createUsageBoard() {
  const usages = new Map<string, LimitUsage>()
  return {
    note(usage: LimitUsage): void {
      if (usages.size < GATEWAY_BOUNDS.usageEntitlementsMax || usages.has(usage.entitlement_id))
        usages.set(usage.entitlement_id, usage)
    },
    /** Entitlements of this UTC day near a quota or a mark, the nearest first. */
    near(): readonly LimitUsage[] {
      const today = dayOf(Date.now())
      // What was seen on an earlier day says nothing of this one.
      for (const [id, { atMs }] of usages) if (dayOf(atMs) < today) usages.delete(id)
      return [...usages.values()]
        .filter(({ day, month, tightened }) => tightened || Math.max(day, month) >= GATEWAY_BOUNDS.nearShare)
        .toSorted((a, b) => Math.max(b.day, b.month) - Math.max(a.day, a.month))
    },
  }
}
