import type { EngineScope } from '#core/engine/query.ts'
import { listRows } from '#search-node/search/candidates/filter-bitset.ts'
import type { FilterBitset, ScopeFilter } from '#search-node/search/candidates/filter-bitset.ts'
import type { SearchScope } from '#search-node/search/candidates/source.ts'

/**
 * Returns the filters of a scope, and the rows that it has beside them: those that it leaves out of the filters, or
 * those that it keeps, whichever are fewer.
 * @param allowed the rows of the scope.
 */
export function engineScope(
  filter: Pick<ScopeFilter, 'ofFilters'>,
  { filters }: SearchScope,
  allowed: FilterBitset,
): EngineScope {
  const filtered = filter.ofFilters(filters)
  if (filtered.count === allowed.count) return { filters, rows: undefined }
  const left = filtered.count - allowed.count
  if (allowed.count <= left) return { filters, rows: { kept: true, list: listRows(allowed) } }
  const bits = filtered.bits.map((word, at) => word & ~(allowed.bits[at] ?? 0))
  return { filters, rows: { kept: false, list: listRows({ bits, count: left }) } }
}
