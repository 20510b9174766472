/** Words for the divisions of an act of the European Union, from the outermost: parts, titles, chapters, sections. */
const WORDS: readonly (readonly [number, RegExp])[] = [
  [
    1,
    /^(?:annex(?:e|es)?|anhang|anhänge|allegat[oi]|anexos?|bijlagen?|bilaga?|bilagor|liite|załącznik|příloha|príloha|melléklet|lisa|pielikums|priedas|anexa|prilog|priloga|anness|παράρτημα|παραρτημα|приложение)(?![\p{L}])/iu,
  ],
  [2, /^(?:part|teil|partie|parte|deel|część|del|osa|μέρος|μεροσ)(?![\p{L}])/iu],
  [3, /^(?:title|titel|titre|titolo|título|tytuł|afsnit|osasto|avdelning|hlava|τίτλος|τιτλοσ)(?![\p{L}])/iu],
  [
    4,
    /^(?:chapter|kapitel|chapitre|capo|capítulo|hoofdstuk|luku|rozdział|kapitola|fejezet|capitolul|κεφάλαιο|κεφαλαιο)(?![\p{L}])/iu,
  ],
  [
    5,
    /^(?:section|abschnitt|sezione|sección|secção|afdeling|jakso|avsnitt|oddział|oddíl|oddiel|secțiunea|τμήμα|τμημα|schedule)(?![\p{L}])/iu,
  ],
  [
    6,
    /^(?:sub-?section|unterabschnitt|sous-section|sottosezione|subsección|subsecção|underafdeling|onderafdeling)(?![\p{L}])/iu,
  ],
]
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
