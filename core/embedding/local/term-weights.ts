import { FUNCTION_WORDS } from '#core/index/analysis/function-words.ts'
import { startsWithDigit, words } from '#core/index/analysis/words.ts'
import { lightStem } from './light-stemmer.ts'

/** Content words that occur in a large share of all provisions on any subject. */
const VERY_COMMON_WORDS = `
person article paragraph section subsection subparagraph chapter part annex schedule title point clause rule regulation
act law directive provision
apply applicable application accordance according pursuant refer referred set out following follow mention subject
respect relation relevant appropriate necessary specific particular respective
provide require requirement include ensure case purpose mean meaning define definition order way manner matter time
period date day month year
information member state union authority competent commission use used carry establish one two three first second third
new different certain general

Absatz Abs Satz Nummer Nr Paragraph Paragraf Artikel Buchstabe Gesetz Vorschrift Bestimmung Abschnitt Kapitel Teil Titel
Fall Fälle Sinne entsprechend entsprechende gelten gilt anwenden anzuwenden Anwendung
insbesondere erforderlich bestimmen bestimmt jeweils jeweilig genannt bezeichnet zuständig Person Recht Tag Monat Jahr
Zeit gemäß ersten zweiten erste zweite eins zwei drei

loi code alinéa disposition cas effet présent présente applicable appliquer prévu prévue prévoir condition droit
personne acte an année mois jour date lieu sens conformément dit dite chapitre titre partie
premier première deuxième second deux trois
`

/** Content words that are common in regulation, and so less informative than the rest. */
const COMMON_WORDS = `
authorised authorized entity undertaking firm company institution service activity business financial measure condition
obligation right regulator party report reporting notice notify notification
document procedure policy system process management control risk amount number value least level basis rate total type
kind form term result effect account client customer product public national European
decision request consider determine determined determination review assess assessment approval approve specify specified
prescribe prescribed relate related place conduct operate operation operator need want keep kept hold held

Behörde Antrag Vertrag Vertrages Verträge Verpflichtung verpflichtet Pflicht Frist Unternehmen Leistung Verfahren
Entscheidung Angabe Information Daten Mitteilung Nachweis Kosten Anspruch Umfang Maßnahme Voraussetzung verlangen

contrat demande juge tribunal bien obligation délai somme chose qualité intérêt
`

/**
 * Static idf: how informative a word is, without a corpus, in place of its inverse document frequency. Function words
 * have a small weight, so that a text of nothing else still has a direction.
 */
const WEIGHT = { functionWord: 0.1, enumerator: 0.2, veryCommon: 0.65, number: 0.8, common: 0.85, other: 1 } as const

/** Numbers of the parts of a provision: one character, or a small Roman numeral. */
const ENUMERATOR = /^(?:.|[ivx]+)$/u

const functionWords = new Set(words(FUNCTION_WORDS))
const weightOfStem = new Map<string, number>()
for (const word of words(COMMON_WORDS)) weightOfStem.set(lightStem(word), WEIGHT.common)
for (const word of words(VERY_COMMON_WORDS)) weightOfStem.set(lightStem(word), WEIGHT.veryCommon)

/** Each word of a heading counts once more, because a heading states the subject of the provision. */
const HEADING_EXTRA_COUNT = 1

interface Term {
  count: number
  /** Static idf of the most informative word with this stem. */
  staticIdf: number
}

/**
 * Returns each stem of a text with its static idf × (1 + ln occurrences). The first line of several is the heading. A
 * text without words has no entries.
 */
export function termWeights(text: string): Map<string, number> {
  const counts = new Map<string, number>()
  const add = (part: string, times: number): void => {
    for (const word of words(part)) counts.set(word, (counts.get(word) ?? 0) + times)
  }
  const headingEnd = text.indexOf('\n')
  if (headingEnd > 0) add(text.slice(0, headingEnd), 1 + HEADING_EXTRA_COUNT)
  add(text.slice(headingEnd + 1), 1)

  const terms = new Map<string, Term>()
  for (const [word, count] of counts) {
    const wordStem = lightStem(word)
    const weight = staticIdf(word, wordStem)
    const term = terms.get(wordStem)
    if (term === undefined) terms.set(wordStem, { count, staticIdf: weight })
    else {
      term.count += count
      term.staticIdf = Math.max(term.staticIdf, weight)
    }
  }
  const weights = new Map<string, number>()
  for (const [wordStem, term] of terms) weights.set(wordStem, term.staticIdf * (1 + Math.log(term.count)))
  return weights
}

/** Returns the weight in (0, 1] of one word of `words()`, given its stem. */
function staticIdf(word: string, stemOfWord: string): number {
  if (functionWords.has(word)) return WEIGHT.functionWord
  if (ENUMERATOR.test(word)) return WEIGHT.enumerator
  if (startsWithDigit(word)) return WEIGHT.number
  return weightOfStem.get(stemOfWord) ?? WEIGHT.other
}
