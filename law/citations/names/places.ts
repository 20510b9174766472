import { z } from 'zod'
import { fold } from '#core/index/analysis/words.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import WORDS from './places.json' with { type: 'json' }

/** Languages whose names of countries are read: those of the European Union, and some more. */
const LANGUAGES = 'en fr de es it pt nl da sv nb fi pl cs sk sl hr hu ro bg el et lv lt ga mt ja ko'.split(' ')
const LETTERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
/** Codes of unions, of unknown places, and of names that are used no more. */
const NO_COUNTRIES = new Set(
  'AC AN BU CP CS DD DG DY EU EZ FX HV NH NT QO RH SU TP UK UN VD XA XB XK YD YU ZR ZZ'.split(' '),
)
/** Letters that a name of a country loses before the ending of its adjective, and those that must stay. */
const TRIMMED_MAX = 3
const STEM_MIN = 4
/** Languages of many countries; the table has their adjectives. */
const WORLD = new Set(['ar', 'en', 'es', 'fr', 'pt'])
/** One word; `finés` is a word of English. */
const LANGUAGE_NAME = /^(?!fines$)\p{L}{5,}$/u
/** Endings of adjectives and their inflections: `belge`, `Spanish`, `schweizerischen`, `senegalais`, `argentino`. */
const ENDINGS =
  /^(?:(?:es)?isch(?:e[mnrs]?)?|i?an[aos]?|i?en(?:nes?|s)?|ea?n(?:ne)?|ain(?:es?|s)?|[aio]|es?|[aeio]s|n|ens?[eio]|ino|ina|es[aei]?|(?:oi|ai)s(?:es?)?|i?sh|er|er?n?isc?h(?:e[mnrs]?)?|isc?h(?:e[mnrs]?)?|(?:i|en|an)?sk(?:[aei]|t|ie?go|iej|eho|ej|ega)?|ol[aeio]?s?|i?que|aki?|ais|ese|ian[aio]|ich?e)?$/

/**
 * Adjectives that no ending gives, by country; states and provinces, which have acts of their own; and names of several
 * words, of which the first alone names no place. A final `*` allows any ending.
 */
const TABLES = z
  .strictObject({
    adjectives: z.record(z.string(), z.string()),
    subdivisions: z.record(z.string(), z.string()),
    several_words: z.array(z.string()),
  })
  .parse(WORDS)
const SEVERAL_WORDS_MAX = 4

interface Places {
  /** Codes by the words of a name, or by a stem of one. */
  readonly names: ReadonlyMap<string, ReadonlySet<string>>
  readonly stems: ReadonlyMap<string, ReadonlySet<string>>
  readonly beginnings: readonly (readonly [beginning: string, code: string])[]
}

let known: Places | undefined

/** Names of languages that are a country's first, which are its adjectives too: `malgache`, `griego`, `Turkse`. */
function* languageNames(codes: readonly string[]): Generator<readonly [name: string, code: string]> {
  const shown = LANGUAGES.map((each) => new Intl.DisplayNames(each, { type: 'language', fallback: 'none' }))
  for (const code of codes) {
    const { language } = new Intl.Locale(`und-${code}`).maximize()
    if (WORLD.has(language) || new Intl.Locale(language).maximize().region !== code) continue
    for (const names of shown) {
      const name = fold(names.of(language) ?? '')
      if (LANGUAGE_NAME.test(name)) yield [name, code]
    }
  }
}

/** Names of countries in every language by ISO 3166 code, as Unicode's CLDR has them, and the tables above. */
function places(): Places {
  if (known !== undefined) return known
  const [names, stems] = [new Map<string, Set<string>>(), new Map<string, Set<string>>()]
  const put = (map: Map<string, Set<string>>, name: string, code: string): void => {
    map.set(name, (map.get(name) ?? new Set()).add(code))
  }
  const english = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
  const codes = LETTERS.flatMap((first) => LETTERS.map((second) => first + second)).filter(
    (code) => !NO_COUNTRIES.has(code) && english.of(code) !== undefined,
  )
  for (const language of LANGUAGES) {
    const shown = new Intl.DisplayNames(language, { type: 'region', fallback: 'none' })
    for (const code of codes) {
      const name = fold(shown.of(code) ?? '').replaceAll(/[^\p{L}]+/gu, ' ')
      put(names, name.trim(), code)
      for (let cut = 0; cut <= TRIMMED_MAX && !name.includes(' ') && name.length - cut >= STEM_MIN; cut += 1)
        put(stems, name.slice(0, name.length - cut), code)
    }
  }
  for (const [name, code] of languageNames(codes)) {
    put(names, name, code)
    put(stems, name.replace(/(?<=.{5})o$/, ''), code)
  }
  const beginnings: [string, string][] = []
  const table = (lines: Readonly<Record<string, string>>, mark: string): void => {
    for (const [code, words] of Object.entries(lines))
      for (const word of words.split(' '))
        if (word.endsWith('*')) beginnings.push([word.slice(0, -1), code + mark])
        else put(names, word, code + mark)
  }
  table(TABLES.adjectives, '')
  table(TABLES.subdivisions, '-')
  for (const name of TABLES.several_words) put(names, name, '-')
  return (known = { names, stems, beginnings })
}

export interface Place {
  /** ISO 3166 codes of the countries that it may be; a part of a country ends with `-`. */
  readonly codes: ReadonlySet<string>
  readonly end: number
}

/** Reads the name of a country, or an adjective of one: `Québec`, `Spanish`, `schweizerischen`, `Côte d'Ivoire`. */
export function readPlace(tokens: TokenStream, at: number): Place | undefined {
  if (!tokens.isWord(at)) return undefined
  const { names, stems, beginnings } = places()
  let words = ''
  let longest: Place | undefined
  for (let [index, count] = [at, 0]; count < SEVERAL_WORDS_MAX; index += 1) {
    if (!tokens.isWord(index)) {
      if (!tokens.reads(index, '-', "'", '.') || !tokens.isWord(index + 1)) break
      continue
    }
    words += `${words === '' ? '' : ' '}${tokens.text(index)}`
    count += 1
    const codes = names.get(words)
    if (codes !== undefined) longest = { codes, end: index + 1 }
  }
  if (longest !== undefined) return longest
  const word = tokens.text(at)
  const [, code] = beginnings.find(([beginning]) => word.startsWith(beginning)) ?? []
  if (code !== undefined) return { codes: new Set([code]), end: at + 1 }
  for (let length = word.length; length >= STEM_MIN; length -= 1) {
    const codes = stems.get(word.slice(0, length))
    if (codes !== undefined && ENDINGS.test(word.slice(length))) return { codes, end: at + 1 }
  }
  return undefined
}
