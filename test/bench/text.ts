/**
 * Texts whose words are as frequent as those of rules: nearly half are function words, the others follow the law of
 * Zipf and Mandelbrot over half a million terms, and a third of them belong to the topic, so that words and vectors
 * agree somewhat. The frequent terms are real words, the rest syllables.
 */
const FUNCTION_WORDS: Readonly<Record<string, readonly string[]>> = {
  en: words(
    'the of to and in a or for by that with is be on as an any which not it at from this are such ' +
      'under has its their been',
  ),
  de: words(
    'der die das und in zu den von mit auf für ist des dem im nicht ein eine als auch nach bei oder ' +
      'aus wird sind durch über sich werden',
  ),
  fr: words(
    'le la les de des et à en un une du dans pour par sur que qui au est ou aux avec ne se son sa leur ce cette sont',
  ),
}
const REAL_WORDS: Readonly<Record<string, readonly string[]>> = {
  en: words(
    'firm authority record client person report notify days business risk measures relationship ' +
      'transaction threshold control review annual board outsource provider written agreement access ' +
      'audit exposure capital requirement ratio supervisory approval application licence condition ' +
      'material change consumer complaint resolve disclosure fee charge transparent advertisement ' +
      'right cancel distance contract data subject breach processor controller transfer safeguard ' +
      'service member rule regulation order date period payment account information document',
  ),
  de: words(
    'Unternehmen Behörde Kunde Person Bericht Frist Tage Risiko Maßnahmen Geschäft Schwelle ' +
      'Kontrolle Prüfung Vorstand Anbieter Vertrag Zugang Eigenkapital Anforderung Quote Aufsicht ' +
      'Zulassung Antrag Bedingung Änderung Verbraucher Beschwerde Gebühr Auskunft Recht Widerruf Daten ' +
      'Verletzung Verantwortlicher Übermittlung Garantie Mitglied Verordnung Gesetz Zahlung Konto ' +
      'Dokument',
  ),
  fr: words(
    'entreprise autorité client personne rapport délai jours risque mesures relation opération seuil ' +
      'contrôle examen conseil prestataire contrat accès exposition capital exigence ratio ' +
      'surveillance agrément demande condition modification consommateur plainte frais information ' +
      'droit rétractation données violation responsable transfert garantie membre règlement loi ' +
      'paiement compte document',
  ),
}
const SYLLABLES = [...'bdfgklmnprstvz'].flatMap((consonant) => [...'aeiou'].map((vowel) => consonant + vowel))

const TERMS = 500_000
const FUNCTION_SHARE = 0.44
const TOPIC_SHARE = 0.35
/**
 * Of Mandelbrot's law: how much the most frequent terms are evened out. The first term is 1.6 % of the words with
 * content.
 */
const TERMS_SHIFT = 5
const TOPIC_TERMS = 300
const TOPIC_TERMS_SHIFT = 3
/** A topic's terms lie anywhere among those of middling frequency, and topics share some. */
const TOPIC_FIRST_RANK = 200
const TOPIC_RANKS = 60_000
const PASSAGE_WORDS = { min: 60, spread: 60 } as const
const SENTENCE_WORDS = { min: 12, spread: 16 } as const

function words(list: string): readonly string[] {
  return list.split(' ')
}

/** About 90 words on a topic. @param language one of the corpus. */
export function inventedText(language: string, topic: number, random: () => number): string {
  let left = between(PASSAGE_WORDS, random)
  const sentences: string[] = []
  while (left > 0) {
    const length = Math.min(left, between(SENTENCE_WORDS, random))
    const sentence = Array.from({ length }, () => word(language, topic, random)).join(' ')
    sentences.push(`${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`)
    left -= length
  }
  return sentences.join(' ')
}

function between({ min, spread }: { readonly min: number; readonly spread: number }, random: () => number): number {
  return min + Math.floor(random() * (spread + 1))
}

function word(language: string, topic: number, random: () => number): string {
  if (random() < FUNCTION_SHARE) {
    const list = FUNCTION_WORDS[language] ?? []
    return list[zipf(list.length, 1, random())] ?? ''
  }
  if (random() >= TOPIC_SHARE) return term(language, zipf(TERMS, TERMS_SHIFT, random()))
  const rank = zipf(TOPIC_TERMS, TOPIC_TERMS_SHIFT, random())
  return term(language, TOPIC_FIRST_RANK + ((topic * 7_919 + rank * 104_729) % TOPIC_RANKS))
}

/**
 * @returns a rank from 0 whose frequency is proportional to 1 / (rank + shift), nearly. @param share uniform in [0, 1).
 */
function zipf(terms: number, shift: number, share: number): number {
  return Math.floor(shift * ((terms + shift) / shift) ** share - shift)
}

function term(language: string, rank: number): string {
  const real = REAL_WORDS[language] ?? []
  if (rank < real.length) return real[rank] ?? ''
  let made = ''
  // Never fewer than two syllables, and never the same for two ranks.
  for (let left = rank + SYLLABLES.length; left > 0; left = Math.floor(left / SYLLABLES.length))
    made += SYLLABLES[left % SYLLABLES.length] ?? ''
  return made
}

const QUESTION_WORDS = { min: 8, spread: 4 } as const

/** Eight to twelve different words with content from a passage, in its order. */
export function inventedQuestion(language: string, text: string, random: () => number): string {
  const functional = new Set(FUNCTION_WORDS[language])
  const content = [...new Set(text.toLowerCase().match(/\p{L}+/gu))].filter((found) => !functional.has(found))
  const wanted = between(QUESTION_WORDS, random)
  while (content.length > wanted) content.splice(Math.floor(random() * content.length), 1)
  return content.join(' ')
}
