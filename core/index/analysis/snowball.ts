import { stemmer as danish } from '@orama/stemmers/danish'
import { stemmer as dutch } from '@orama/stemmers/dutch'
import { stemmer as english } from '@orama/stemmers/english'
import { stemmer as french } from '@orama/stemmers/french'
import { stemmer as german } from '@orama/stemmers/german'
import { stemmer as italian } from '@orama/stemmers/italian'
import { stemmer as norwegian } from '@orama/stemmers/norwegian'
import { stemmer as portuguese } from '@orama/stemmers/portuguese'
import { stemmer as spanish } from '@orama/stemmers/spanish'
import { stemmer as swedish } from '@orama/stemmers/swedish'

type Stemmer = (word: string) => string

/**
 * Snowball stemmers (https://snowballstem.org/algorithms; English by Porter, 1980) by primary language subtag. Words
 * arrive without diacritics, because questions are often typed that way. Where an algorithm needs an accented ending,
 * the accent is restored first.
 */
const STEMMERS: ReadonlyMap<string, Stemmer> = new Map<string, Stemmer>([
  ['da', danish],
  ['de', german],
  ['en', english],
  ['es', (word) => spanish(word.replace(/ion$/, 'ión'))],
  ['fr', (word) => french(word.replace(/ee(s?)$/, 'ée$1'))],
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
export function snowballStemmer(language: string): Stemmer {
  return STEMMERS.get(language) ?? ((word) => word)
}
