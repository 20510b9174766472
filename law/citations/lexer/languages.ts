import { z } from 'zod'
import { FUNCTION_WORD_FORMS, type TokenStream } from './tokens.ts'
import WORDS from './languages.json' with { type: 'json' }

const wordList = z
  .string()
  .default('')
  .transform((list) => list.split(' ').filter((word) => word !== ''))
/**
 * What joins the names of acts and provisions, in languages without a grammar of their own. The names themselves come
 * from a version's labels, titles and aliases. All words are folded.
 */
const tableSchema = z.record(
  z.string(),
  z.strictObject({
    /** Words for an article or a section, an annex, a recital, and for what stands below, before its number. */
    article: wordList,
    annex: wordList,
    recital: wordList,
    paragraph: wordList,
    /** Words between a word for a provision and its number (`kifungu cha 5`). */
    number: wordList,
    /** Words between a provision and its act. */
    of: wordList,
    /** Beginnings of nouns of legislation, which end compounds (`kjøpsloven`). */
    nouns: wordList,
    /** Endings of cases: `Kodeksu` and `Kodeks` are one. Articles and prepositions that are written with a word. */
    endings: wordList,
    prefix: wordList,
    /** Words behind a number: for an article or a section (`5. pants`), and those above that stand there too. */
    behind: wordList,
  }),
)
const TABLE = tableSchema.parse(WORDS)

/** Words of these languages that others have as well, so that they tell no language. */
const SHARED = new Set('artikel paragraf annex gr ek m md lisa kappale § §§'.split(' '))
/** Words within a name, before what the act is about: `Wet op de`, `zakon o`, `закон за`, `lov om`. */
const ABOUT = new Set(
  'o za за περι για om op inzake betreffende su sui sul sulla sugli sulle dwar privind par per sobre'.split(' '),
)
/** An act that a noun alone names, where it has a capital. */
const CONSTITUTION =
  /^(?:[ck]onst[iy]tu|costituzion|grondwet|ustav|satversm|alaptorveny|bunreacht|конституц|συνταγμ|kostituzz|pohiseadus|katiba|perlembag|սահմանադ|კონსტიტ)/
const NAME_TOKENS_MAX = 12
const BEFORE_NOUN_MAX = 3
const STEM_MIN = 4

type Words = ReturnType<typeof wordsOf>

export const LANGUAGES: ReadonlyMap<string, Words> = new Map(
  Object.entries(TABLE).map(([code, words]) => [code, wordsOf(words)]),
)

/** The code that a language has in the table; Norwegian has one. @param tag BCP 47. */
export function codeOf(tag: string): string {
  return tag.replace(/-.*/, '').replace(/^n[no]$/, 'nb')
}

/** Whether a language has neither a table nor a grammar, so that labels alone tell its words for provisions. */
export function isTaught(tag: string): boolean {
  return !LANGUAGES.has(codeOf(tag)) && !/^(?:de|en|fr|ja|ko|zh)$/.test(codeOf(tag))
}

const AFFIX_MAX = 3
/** The word of these that a word is, perhaps with a preposition or the ending of a case: `በአንቀጽ` is `አንቀጽ`. */
export function formOf(text: string, words: ReadonlySet<string>): string | undefined {
  const isLong = ({ length }: string) => text.length - length <= AFFIX_MAX && length > (/^\p{Lo}/u.test(text) ? 2 : 3)
  const isForm = (word: string) => isLong(word) && (text.endsWith(word) || text.startsWith(word))
  return words.has(text) ? text : [...words].find(isForm)
}

function wordsOf({ of, nouns, endings, prefix, behind, ...rest }: (typeof TABLE)[string]) {
  const noun = `(?:${nouns.join('|')})`
  const before = prefix.map((each) => `^${each}(?=.{3,})`)
  const affixes = [...before, `(?<=^.{${STEM_MIN},})(?:${endings.join('|')})$`]
  return {
    ...rest,
    of: new Set(of),
    nouns: new RegExp(`^${noun}\\p{L}{0,5}$`, 'u'),
    compounds: new RegExp(`^[\\p{L}\\p{M}]{3,}${noun}\\p{L}{0,4}$`, 'u'),
    endings: prefix.length + endings.length === 0 ? undefined : new RegExp(affixes.join('|'), 'gu'),
    behind: new Set(behind),
  }
}

/** The languages that a word for a provision tells. */
const LANGUAGES_OF = new Map<string, string[]>()
for (const [code, { article, annex, recital, behind }] of LANGUAGES)
  for (const word of [...article, ...annex, ...recital, ...behind])
    if (!SHARED.has(word)) LANGUAGES_OF.set(word, [...(LANGUAGES_OF.get(word) ?? []), code])

/** The languages that a text is found to hold, and whether some word may be a noun of legislation or an abbreviation. */
const foundIn = new WeakMap<TokenStream, { readonly languages: ReadonlySet<string>; readonly names: boolean }>()

function find(tokens: TokenStream, ofVersion: ReadonlySet<string>) {
  const known = foundIn.get(tokens)
  if (known !== undefined) return known
  const all = tokens.slice(0, tokens.length)
  const languages = new Set(ofVersion)
  for (const { text } of all) for (const code of LANGUAGES_OF.get(text) ?? []) languages.add(code)
  const mayName = (text: string): boolean =>
    some(languages, ({ nouns, compounds }) => nouns.test(text) || compounds.test(text))
  const names = languages.size > 0 && all.some(({ kind, text }) => text === '.' || (kind === 'word' && mayName(text)))
  const result = { languages, names }
  foundIn.set(tokens, result)
  return result
}

/** The languages of a text by its words for provisions, and those of a version, for which there are tables. */
export function languagesIn(tokens: TokenStream, ofVersion: ReadonlySet<string>): ReadonlySet<string> {
  return find(tokens, ofVersion).languages
}

function some(languages: ReadonlySet<string>, test: (words: Words) => boolean): boolean {
  for (const code of languages) {
    const words = LANGUAGES.get(code)
    if (words !== undefined && test(words)) return true
  }
  return false
}

/** Whether a word of these languages stands between a provision and its act. */
export function isLink(text: string, languages: ReadonlySet<string>): boolean {
  return languages.size > 0 && some(languages, ({ of }) => of.has(text))
}

/** Whether a word behind a number makes it an article or a section. */
export function isDesignatorBehind(text: string, languages: ReadonlySet<string>): boolean {
  return languages.size > 0 && some(languages, ({ behind }) => behind.has(text))
}

/** A word without the ending of its case, in the languages of a version: `Kodeksu` and `Kodeks` are one. */
export function stemOf(word: string, languages: ReadonlySet<string>): string {
  let shortest = word
  for (const code of languages) {
    const stem = word.replace(LANGUAGES.get(code)?.endings ?? /$^/, '')
    if (stem.length < shortest.length) shortest = stem
  }
  return shortest
}

/**
 * Returns the position after the name of an act that no table holds: `Ley General de Puentes`, `zákona č. 89/2012`,
 * `občanského zákoníku`, `avtaleloven`. A noun alone names none.
 * @param isListed whether a name of a table begins at a position, before the noun.
 */
export function endOfForeignName(
  tokens: TokenStream,
  at: number,
  languages: ReadonlySet<string>,
  isListed: (at: number) => boolean,
): number | undefined {
  if (foundIn.get(tokens)?.names === false) return undefined
  const short = endOfAbbreviation(tokens, at, languages)
  if (short !== undefined) return short
  const isCompound = (index: number): boolean =>
    tokens.isWord(index) && some(languages, ({ compounds }) => compounds.test(tokens.text(index)))
  if (isCompound(at)) return at + 1
  let noun = at
  while (!isNoun(tokens, noun, languages)) {
    const isHyphen = noun > at && tokens.text(noun) === '-' && tokens.isGlued(noun) && tokens.isGlued(noun + 1)
    const isOther = !tokens.isWord(noun) || FUNCTION_WORD_FORMS.has(tokens.text(noun)) || isCompound(noun)
    if ((isOther && !isHyphen) || noun === at + BEFORE_NOUN_MAX) return undefined
    noun += 1
    if (isListed(noun)) return undefined
  }
  if (tokens.isCapitalised(noun) && CONSTITUTION.test(tokens.text(noun))) return noun + 1
  let end = noun + 1
  while (end < at + NAME_TOKENS_MAX) {
    const next = afterPartOfName(tokens, end, languages)
    if (next === undefined) break
    end = next
  }
  // `Legea fântânilor`, `Kodeks karny`: after a capital, and in scripts without, the next word belongs to the name.
  const takesNext = end === at + 1 && /^[\p{Lu}\p{Lo}]/u.test(tokens.raw(at))
  if (takesNext && tokens.isWord(end) && !FUNCTION_WORD_FORMS.has(tokens.text(end))) return end + 1
  return end > at + 1 ? end : undefined
}

/** `c.c.`, `d.lgs. 82/2005`, `ν. 4624/2019`, `Btk. 5. §`: letters with full stops, or before a number. */
function endOfAbbreviation(tokens: TokenStream, at: number, languages: ReadonlySet<string>): number | undefined {
  if (tokens.text(at) === 'i' && tokens.text(at + 2) === 'v') return undefined
  let end = at
  while (/^\p{L}{1,4}$/u.test(tokens.raw(end)) && tokens.reads(end + 1, '.') && tokens.isGlued(end + 1)) end += 2
  const isNumbered = tokens.isNumber(end) && tokens.reads(end + 1, '/') && tokens.isYear(end + 2)
  if (end > at && isNumbered) return end + 3
  const behind = tokens.text(tokens.skip(end + 1, '.'))
  if (end > at && tokens.isCapitalised(at) && tokens.isNumber(end) && isDesignatorBehind(behind, languages)) return end
  return end >= at + 4 && tokens.text(at).length === 1 ? end : undefined
}

function isNoun(tokens: TokenStream, at: number, languages: ReadonlySet<string>): boolean {
  return tokens.isWord(at) && some(languages, ({ nouns }) => nouns.test(tokens.text(at)))
}

/** A number with its word, a word with a capital, an adjective, or such a word behind its link. */
function afterPartOfName(tokens: TokenStream, at: number, languages: ReadonlySet<string>): number | undefined {
  const open = tokens.skip(at, '(')
  const mark = tokens.reads(open, 'n', 'no', 'nr', 'c', 'num') ? tokens.skip(open + 1, '.', '°') : open
  const number = tokens.skip(mark, '°')
  if (tokens.isNumber(number)) {
    let end = number + 1
    while (tokens.isGlued(end) && tokens.reads(end, '/', '-', ':', '.', '–') && tokens.isGlued(end + 1)) end += 2
    // `кодексінің 5-бабы`.
    const behind = [tokens.text(end - 1), tokens.text(tokens.skip(end, '.'))]
    if (behind.some((word) => isDesignatorBehind(word, languages))) return undefined
    return open > at ? tokens.skip(end, ')') : end
  }
  // `Undang-Undang`.
  const isTwice = tokens.reads(at, '-') && tokens.isGlued(at) && tokens.text(at + 1) === tokens.text(at - 1)
  if (!tokens.isWord(at)) return isTwice ? at + 2 : undefined
  const about = ABOUT.has(tokens.text(at)) ? tokens.skip(at + 1, 'de', 'het', 'la', 'il', 'los', 'las') : at
  if (about > at && tokens.isWord(about)) return about + 1
  let word = at
  while (word < at + 3 && (isLink(tokens.text(word), languages) || tokens.reads(word, "'", 'y', 'e', 'i'))) word += 1
  // `अधिनियम की धारा 5`: the word for a provision.
  if (word > at && LANGUAGES_OF.has(tokens.text(word))) return undefined
  const isName = tokens.isCapitalised(word) || (word > at && !FUNCTION_WORD_FORMS.has(tokens.text(word)))
  if (tokens.isWord(word) && isName) return word + 1
  return word === at &&
    /(?:al|il|[ai]ri[ao]|are|ale|[ae]nsk|ic[ao]|iv[ao]|ile|(?:eh|n)o|e[gh]o|nej|nych)$/.test(tokens.text(at))
    ? at + 1
    : undefined
}
