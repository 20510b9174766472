interface Identified {
  readonly id: string
}

/** A sample of a stream. Ids that are hashes of contents give the same sample in any order. */
export interface BottomKSample<Item extends Identified> {
  /** In the order of the ids; at most `count`. */
  readonly items: readonly Item[]
  /** Whether an item with this id would be kept now. */
  takes(id: string): boolean
  /** Keeps the item if its id is among the smallest. */
  add(item: Item): void
}

/** Creates a sample of the items with the smallest ids. @param count most items that it keeps; at least 1. */
export function createBottomKSample<Item extends Identified>(count: number): BottomKSample<Item> {
  const items: Item[] = []
  const takes = (id: string): boolean => {
    const last = items.at(-1)
    return items.length < count || last === undefined || id < last.id
  }
  return {
    items,
    takes,
    add(item) {
      if (!takes(item.id)) return
      const at = items.findIndex(({ id }) => item.id < id)
      items.splice(at === -1 ? items.length : at, 0, item)
      if (items.length > count) items.pop()
    },
  }
}
