/**
 * Creates a sample of the items of a stream with the smallest ids, in their order. Ids that are hashes of contents give
 * the same sample in any order.
 * @param count most items that it keeps; at least 1.
 */
export function createBottomKSample<Item extends { readonly id: string }>(count: number) {
  const items: Item[] = []
  const takes = (id: string): boolean => {
    const last = items.at(-1)
    return items.length < count || last === undefined || id < last.id
  }
  return {
    items,
    /** Whether an item with this id would be kept now. */
    takes,
    add(item: Item) {
      if (!takes(item.id)) return
      const at = items.findIndex(({ id }) => item.id < id)
      items.splice(at === -1 ? items.length : at, 0, item)
      if (items.length > count) items.pop()
    },
  }
}
