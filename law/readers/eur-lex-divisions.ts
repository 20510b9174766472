import NAMES from './names/words.json' with { type: 'json' }

/** Words for the divisions of an act of the European Union, by rank: annexes, parts, titles, chapters, sections. */
const WORDS = Object.entries(NAMES.divisions).map(
  ([rank, words]) => [Number(rank), new RegExp(`^(?:${words})(?![\\p{L}])`, 'iu')] as const,
)
const OTHER_RANK = 7
/** A number at the start of a heading of a division: `A.`, `IV.`, `1.2.`. */
const NUMBER = /^(?:[A-Z]|[IVXLC]+|\d+(?:\.\d+)*)[.)](?:\s|$)/

export const ANNEX_RANK = 1
export const FINAL_RANK = 2
/** Of articles and of notes, which hold no headings. */
export const ARTICLE_RANK = 9

/** Returns the rank of a heading: a division reaches to the next heading of its rank or of one further out. */
export function divisionRank(heading: string): number {
  return WORDS.find(([, word]) => word.test(heading))?.[0] ?? OTHER_RANK
}

/** Whether a heading names a division by a word or a number, and so does not go on with the heading before it. */
export function namesDivision(heading: string): boolean {
  return NUMBER.test(heading) || divisionRank(heading) !== OTHER_RANK
}
