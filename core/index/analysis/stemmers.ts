import { stemmer as danish } from '@orama/stemmers/danish'
import { stemmer as dutch } from '@orama/stemmers/dutch'
import { stemmer as english } from '@orama/stemmers/english'
import { stemmer as french } from '@orama/stemmers/french'
import { stemmer as german } from '@orama/stemmers/german'
import { stemmer as indian } from '@orama/stemmers/indian'
import { stemmer as italian } from '@orama/stemmers/italian'
import { stemmer as norwegian } from '@orama/stemmers/norwegian'
import { stemmer as portuguese } from '@orama/stemmers/portuguese'
import { stemmer as spanish } from '@orama/stemmers/spanish'
import { stemmer as swedish } from '@orama/stemmers/swedish'

type Stemmer = (word: string) => string

const ARABIC_PREFIXES = ['ال', 'وال', 'بال', 'كال', 'فال', 'لل', 'و'] as const
const ARABIC_SUFFIXES = ['ها', 'ان', 'ات', 'ون', 'ين', 'يه', 'ه', 'ي'] as const
const REST_LETTERS_MIN = 2
/** A shorter word keeps a single `و`, which is then part of its root. */
const PREFIXED_LETTERS_MIN = 4

/** A nasal before a consonant of its own row is also written as anusvara: `अनुबन्ध`, `अनुबंध`. */
const NASAL_BEFORE_OWN_ROW = /ङ्(?=[क-घ])|ञ्(?=[च-झ])|ण्(?=[ट-ढ])|न्(?=[त-ध])|म्(?=[प-भ])/g
/** The glide between vowels may be left out: `किराये`, `किराए`. */
const GLIDE_E = /(?<=[ाि])ये/g
const GLIDE_I = /(?<=[ाि])यी/g

/**
 * Removes articles, prefixed particles and endings from a folded Arabic word. This is light10 (Larkey, Ballesteros &
 * Connell 2007), except that prefixes are removed as long as there are any: `التزام` begins like a word
 * with article, and has the stem of `الالتزام`. Snowball's algorithm leaves more forms apart (decision 0006).
 */
function arabic(word: string): string {
  let stem = withoutPrefix(word)
  for (const suffix of ARABIC_SUFFIXES)
    if (stem.endsWith(suffix) && stem.length >= suffix.length + REST_LETTERS_MIN) stem = stem.slice(0, -suffix.length)
  return stem
}

function withoutPrefix(word: string): string {
  const prefix = ARABIC_PREFIXES.find(
    (one) => word.startsWith(one) && word.length >= Math.max(one.length + REST_LETTERS_MIN, PREFIXED_LETTERS_MIN),
  )
  return prefix === undefined ? word : withoutPrefix(word.slice(prefix.length))
}

/** Snowball's algorithm (Ramanathan & Rao 2003) for a folded Hindi word in one spelling. */
function hindi(word: string): string {
  return indian(word.replace(NASAL_BEFORE_OWN_ROW, 'ं').replace(GLIDE_E, 'ए').replace(GLIDE_I, 'ई'))
}

/**
 * By primary language subtag, Snowball's where no other is named (https://snowballstem.org/algorithms; English by
 * Porter, 1980). Words arrive without diacritics, because questions are often typed that way, and as `foldSpellings`
 * gives them. Where an algorithm needs an accented ending, the accent is restored first.
 */
const STEMMERS: ReadonlyMap<string, Stemmer> = new Map<string, Stemmer>([
  ['ar', arabic],
  ['da', danish],
  ['de', german],
  ['en', english],
  ['es', (word) => spanish(word.replace(/ion$/, 'ión'))],
  ['fr', (word) => french(word.replace(/ee(s?)$/, 'ée$1'))],
  ['hi', hindi],
  ['it', italian],
  ['nb', norwegian],
  ['nl', dutch],
  ['nn', norwegian],
  ['no', norwegian],
  ['pt', (word) => portuguese(word.replace(/cao$/, 'ção').replace(/coes$/, 'ções'))],
  ['sv', swedish],
])

/**
 * Returns the stemmer for folded words of letters only. In a language without a stemmer it returns the word itself.
 * @param language primary subtag, lower case.
 */
export function stemmerOf(language: string): Stemmer {
  return STEMMERS.get(language) ?? ((word) => word)
}
