import { foldKey } from '#core/identity/fold.ts'

/**
 * Languages in which a country publishes its law, by ISO 3166-1, and short words of each. A text counts as in one of
 * them where its words say so.
 */
const COUNTRIES: ReadonlyMap<string, string> = new Map(
  (
    'ad:ca ar:es at:de be:nl,fr,de br:pt ch:de,fr,it cl:es co:es cz:cs,sk de:de dk:da ee:et es:es,ca ' +
    'fi:fi,sv fr:fr gb:en ie:en,ga it:it,de li:de lt:lt lu:fr,de lv:lv mx:es nl:nl pe:es pl:pl pt:pt ' +
    'se:sv sk:sk,cs us:en uy:es'
  )
    .split(' ')
    .map((each) => [each.slice(0, 2), each.slice(3)]),
)
const WORDS: Readonly<Record<string, string>> = {
  ca: 'els les dels amb per que aquest aquesta article una del i és seva llei',
  cs: 'a se v na je nebo podle který která které při až jsou být odst zákona jeho od',
  da: 'og af i til den der er som for ikke eller efter med skal på',
  de: 'der die das und den von des zu mit ist nach für oder werden durch',
  en: 'the of and to in or is for by any be that this shall which',
  es: 'de la el los las del que y en por se artículo para con una',
  et: 'ja või on ei ning käesoleva kui mis lõike lõikes määruse selle tema kes valla linna nr alusel seaduse',
  fi: 'ja on tai ei se joka sekä sen voidaan mukaan momentissa että lain',
  fr: 'de la le les des et du par en une est dans au pour que',
  ga: 'an na agus ar is do le sa chun go faoi bhíonn aon',
  it: 'di e il la che del della per in le dei con gli una sono',
  lt: 'ir arba yra kad pagal iš su dėl kuris kurie šio nuo straipsnio dalies',
  lv: 'un vai ir par ar no kas šā pants pantā daļā likuma ja',
  nl: 'de het van een en in of op voor is door te met dat wordt',
  pl: 'i w z na do się lub oraz nie jest przez od ust dla',
  pt: 'de a o que e do da em os para com não uma dos as',
  sk: 'a sa v na je alebo podľa ktorý ktorá ktoré pri až sú byť ods zákona jeho od vyhlášky ak',
  sv: 'och av i att som för en är den till eller med skall ska får',
}
const SETS: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries(WORDS).map(([language, words]) => [language, new Set(foldKey(words).split(' '))]),
)
const READ_CHARACTERS = 40_000
/** Share of the words of a text that its language's short words make at least. */
const SHARE_MIN = 0.05

/** Returns the language of its country that a text is in; undefined where the country is not known, or none fits. */
export function languageOf(country: string, text: string): string | undefined {
  const languages = (COUNTRIES.get(foldKey(country)) ?? '').split(',')
  const words: readonly string[] = foldKey(text.slice(0, READ_CHARACTERS)).match(/\p{L}+/gu) ?? []
  const counts = languages.map((language) => {
    const own = SETS.get(language)
    return { language, count: words.filter((word) => own?.has(word)).length }
  })
  const [best, second] = counts.toSorted((a, b) => b.count - a.count)
  if (best === undefined || best.count <= words.length * SHARE_MIN) return undefined
  return best.count === second?.count ? undefined : best.language
}
