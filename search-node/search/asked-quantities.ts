import { fold } from '#core/index/analysis/words.ts'

/** `how many pages`, `wie viele Mitglieder`, `combien de témoins`: the noun is captured. */
const COUNTED = /(?<!\p{L})(?:how many|wie ?viele[nr]?|combien d(?:e |'|’))\s*(\p{L}+)/gu
const AMOUNT =
  /(?<!\p{L})(?:how (?:much|high)|wie (?:hoch|viel|teuer)|wieviel|combien(?! d)|quel (?:montant|prix))(?!\p{L})/u
/** Units and shares in English, German and French, folded. */
const AMOUNT_WORDS =
  'eur|euros?|dollars?|(?:per|pour) ?cent|prozent|half|halfte|moitie|(?:one|two)[ -]thirds?|drittel|tiers|quarter|' +
  'viertel|quart|double|doppelte|triple'
const STATED_AMOUNT = new RegExp(`[\\p{Sc}%‰]|(?<!\\p{L})(?:${AMOUNT_WORDS})(?!\\p{L})`, 'u')
const NUMBER_WORDS =
  'two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|hundred|zwei|drei|vier|funf|sechs|sieben|acht|neun|' +
  'zehn|elf|zwolf|hundert|deux|trois|quatre|cinq|sept|huit|neuf|dix|onze|douze|cent'
const DESIGNATORS = 'art|article|artikel|section|paragraph|absatz|satz|nr'
/** Numbers of paragraphs and provisions stand in brackets, before a full stop, or after a designator. */
const NUMBER_APART = `(?<![\\p{L}\\p{N}(./§]|(?:${DESIGNATORS})[. ] ?)`
const NUMBER = `${NUMBER_APART}(?:\\p{N}+(?![\\p{N})./])|${NUMBER_WORDS})(?!\\p{L})`
/** Signs between two words; bounded, because tables are runs of numbers. */
const GAP = '\\P{L}{1,12}'
const ANY_NUMBER = new RegExp(NUMBER, 'u')
/** Words that may stand between a number and what it counts: `two competent and independent witnesses`. */
const BETWEEN_MAX = 3
/** Letters that an inflection may change at the end of a word, and those that must stay. */
const INFLECTION_LETTERS = 2
const STEM_LETTERS_MIN = 3

/** What a question asks to be counted, folded. */
export function countedIn(question: string): ReadonlySet<string> {
  return new Set(Array.from(fold(question).matchAll(COUNTED), ([, noun = '']) => noun))
}

/** Whether a text states a number of these things. @param counted a folded word. */
export function statesNumberOf(counted: string, text: string): boolean {
  const stem = counted.slice(0, Math.max(STEM_LETTERS_MIN, counted.length - INFLECTION_LETTERS))
  return new RegExp(`${NUMBER}(?:${GAP}\\p{L}+){0,${BETWEEN_MAX}}?${GAP}${stem}`, 'u').test(fold(text))
}

export function statesNumber(text: string): boolean {
  return ANY_NUMBER.test(fold(text))
}

/** Whether a question asks how much or how high something is. */
export function asksAmount(question: string): boolean {
  return AMOUNT.test(fold(question))
}

export function statesAmount(text: string): boolean {
  return STATED_AMOUNT.test(fold(text))
}
