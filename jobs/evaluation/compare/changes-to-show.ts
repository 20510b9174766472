import type { NamedChange } from './changes-file.ts'

/** Order in which a reviewer reads the changes. */
const ORDER = [
  'text',
  'passages_repeated',
  'answers_wrong',
  'answers_lost',
  'aliases_changed',
  'references_changed',
  'facet_values_removed',
  'documents_removed',
  'documents_changed',
  'passages_changed',
  'passages_removed',
  'profile_changed',
  'questions_changed',
  'search_questions_changed',
  'vectors_changed',
  'provisions_removed',
  'snapshots_changed',
  'passages_added',
  'documents_added',
  'aliases_added',
  'questions_added',
  'profile_fitted',
  'answers_moved',
] as const
type ChangeClass = (typeof ORDER)[number]

/** Keeps the changes that a page with room for `max` shows, of any number that are offered. */
export function changesToShow(max: number): {
  offer(change: NamedChange): void
  first(): readonly NamedChange[]
} {
  const kept = new Map<ChangeClass, NamedChange[]>(ORDER.map((each) => [each, []]))
  let count = 0
  return {
    offer(change) {
      const changeClass = ORDER.find((each) => each === changeClassOf(change))
      const list = changeClass === undefined ? undefined : kept.get(changeClass)
      if (list === undefined || list.length === max) return
      list.push(change)
      count += 1
      if (count > max) {
        ;[...kept.values()].findLast((others) => others.length > 0)?.pop()
        count -= 1
      }
    },
    first: () => [...kept.values()].flat(),
  }
}

/** An altered text comes before every other change. */
function changeClassOf(change: NamedChange): string {
  return change.kind === 'passages_changed' && change.before?.text !== undefined ? 'text' : change.kind
}
