import { describe, expect, test } from 'vitest'
import { tokenHash } from '#core/index/lexical/token-hash.ts'
import { namedCoverage, type NamedCoverage } from '#search-node/search/named-provision.ts'
import { said, termsOf, withForward, type ForwardPassage } from '#test/support/lexical-index.ts'

function wordsOf(passage: ForwardPassage): Uint32Array {
  const { language, heading, text } = termsOf(passage)
  return Uint32Array.from([...heading, ...text], (term) => tokenHash(language, term))
}

/** What passages of the named provision hold of what is left of a question, in a corpus that holds other passages. */
function compared(
  remainder: string,
  named: readonly ForwardPassage[],
  others: readonly ForwardPassage[] = [],
): NamedCoverage {
  return withForward([...named, ...others], ({ ask }) =>
    namedCoverage(
      ask(remainder),
      named.map((passage) => ({ text: passage, words: wordsOf(passage) })),
      others.map(wordsOf),
    ),
  )
}

/** Weight of a word that no passage holds. */
const ABSENT = 7
const MISSING_MEASURE = 20
const lacked = (...asked: Parameters<typeof compared>): number => compared(...asked).missing

const en = (text: string): ForwardPassage => said(text, { language: 'en' })
const de = (text: string): ForwardPassage => said(text, { language: 'de' })
const fr = (text: string): ForwardPassage => said(text, { language: 'fr' })

const NOTICE = {
  en: en(
    'The controller provides the data subject with the identity of the controller and the purposes of processing.',
  ),
  de: de('Der Verantwortliche teilt der betroffenen Person die Zwecke der Verarbeitung und seinen Namen mit.'),
  fr: fr('Le responsable du traitement fournit son identité et les finalités du traitement à la personne concernée.'),
}

describe('a question about a named provision', () => {
  test.each([
    [
      NOTICE.en,
      ['', '?', 'What does say?', 'Please explain and the meaning of', 'text of', 'Which duties? What is prohibited?'],
    ],
    [NOTICE.de, ['', 'Was regelt ?', 'Wortlaut', 'Was steht in ?', 'Voraussetzungen?', 'Tatbestand und Rechtsfolge']],
    [
      NOTICE.fr,
      [
        '',
        'Que dit ?',
        'Quel est le contenu de ?',
        'Que prévoit le texte de ?',
        'Conditions ?',
        'Quelles obligations impose ?',
      ],
    ],
  ] as const)('that asks for the provision alone lacks nothing: %#', (passage, remainders) => {
    for (const remainder of remainders) expect(lacked(remainder, [passage]), remainder).toBe(0)
  })

  test.each([
    [NOTICE.en, 'which purposes of processing does provide?', ['does mention pizza?', 'on helicopters and volcanoes']],
    [NOTICE.de, 'welche Zwecke der Verarbeitung?', ['erwähnt Pizza?', 'zu Hubschraubern und Vulkanen']],
    [NOTICE.fr, 'quelles finalités du traitement ?', ['mentionne la pizza ?', 'sur les hélicoptères et les volcans']],
  ] as const)(
    'lacks no more than a form of what the provision says, and all that it does not: %#',
    (passage, asked, absurd) => {
      expect(lacked(asked, [passage])).toBeLessThan(1)
      for (const remainder of absurd) expect(lacked(remainder, [passage]), remainder).toBeGreaterThanOrEqual(ABSENT)
    },
  )

  test('counts what any passage of the provision says, also in a heading or another form', () => {
    const passages = [en('Processing is lawful.'), said('Consent of a child.', { language: 'en', heading: 'Children' })]
    expect(lacked('lawful consent', passages)).toBe(0)
    expect(lacked('lawful consent', passages.slice(0, 1), passages.slice(1))).toBeGreaterThan(0)
    expect(lacked('children', passages)).toBe(0)
  })
})

describe('a measure that is asked for', () => {
  test.each([
    ['within how many hours?', en('The controller notifies the breach.'), en('… not later than 72 hours after it.')],
    ['how many days', en('It notifies.'), en('It notifies within one month.')],
    ['what is the fine?', en('The keeper registers.'), en('The keeper pays fines up to 4 %.')],
    ['how many euros', en('The keeper pays.'), en('The keeper pays €500.')],
    ['wie hoch ist das Bußgeld?', de('Der Halter meldet.'), de('Der Halter zahlt ein Bußgeld.')],
    ['welche Frist in Tagen?', de('Der Halter meldet.'), de('Der Halter meldet binnen eines Monats.')],
    ['wie viel Prozent?', de('Der Halter zahlt.'), de('Der Halter zahlt 4 %.')],
    ['quel délai en jours ?', fr('Le détenteur déclare.'), fr('Le détenteur déclare dans un délai de trois mois.')],
    ['quelle amende ?', fr('Le détenteur déclare.'), fr('Le détenteur paie une amende.')],
  ])('decides: "%s" is lacking iff the provision states none of its kind', (remainder, without, stating) => {
    expect(lacked(remainder, [without])).toBeGreaterThanOrEqual(MISSING_MEASURE)
    expect(lacked(remainder, [stating])).toBeLessThan(1)
  })
})

describe('what the provision lacks', () => {
  const OTHERS = Array.from({ length: 10 }, (_, n) => en(`Another provision ${n}.`))
  const missing = (remainder: string): number => lacked(remainder, [NOTICE.en], OTHERS)

  test('is nothing where the question asks for the provision alone, or only for what it says', () => {
    for (const remainder of ['', 'What does say?', 'purposes of processing?']) expect(missing(remainder)).toBe(0)
  })

  test('grows with every word that is missing, however many the provision holds', () => {
    const [one, two] = [missing('fees?'), missing('fees for volcanoes?')]
    expect(one).toBeGreaterThan(1)
    expect(two).toBeGreaterThan(one + 1)
    expect(missing('volcanoes')).toBeCloseTo(missing('purposes of processing by the controller on volcanoes'), 9)
  })

  test('weighs alike in versions of any size where no passage has the word', () => {
    const alone = lacked('volcanoes?', [NOTICE.en])
    expect(alone).toBeGreaterThan(0)
    expect(missing('volcanoes?')).toBe(alone)
  })

  test('weighs most where a measure is asked for and not stated', () => {
    expect(missing('within how many hours?')).toBeGreaterThan(missing('on volcanoes and helicopters?'))
  })
})

describe('what another text of the document says', () => {
  const AGE = en('A child consents from the age of sixteen years.')
  const elsewhere = (remainder: string, others: readonly ForwardPassage[]): number =>
    compared(remainder, [NOTICE.en], others).elsewhere

  test('counts by how much more of the question it holds than the provision', () => {
    const [part, whole] = [elsewhere('child, purposes?', [AGE]), elsewhere('can a child consent?', [AGE])]
    expect(part).toBe(0)
    expect(whole).toBe(1)
    const several = elsewhere('child, consent, purposes?', [AGE])
    expect(several).toBeGreaterThan(0)
    expect(several).toBeLessThan(1)
  })

  test('counts nothing where the provision holds as much, the question asks for it alone, or there is no other', () => {
    expect(elsewhere('purposes of processing?', [AGE, NOTICE.en])).toBe(0)
    expect(elsewhere('What does say?', [AGE])).toBe(0)
    expect(elsewhere('can a child consent?', [])).toBe(0)
  })

  test('is measured text by text: two texts with half of the question each count like one', () => {
    const halves = [en('A child.'), en('To consent.')]
    expect(elsewhere('child consent volcanoes', halves)).toBeLessThan(elsewhere('child consent volcanoes', [AGE]))
  })
})

describe('a version of several languages', () => {
  test('leaves out function words of the passages’ language that are words of another', () => {
    // "die" and "war" are words of English passages, and function words of German.
    const others = [en('A party may die in a war.'), en('Those who die in a war.')]
    expect(lacked('Was sagt die Norm, und wie war die Regelung?', [NOTICE.de], others)).toBe(0)
    expect(lacked('is war mentioned?', [NOTICE.en], others)).toBeGreaterThan(0)
  })
})

describe('a question in a language that the version lacks', () => {
  test('lacks nothing if it asks for the provision alone, and something if it asks for more', () => {
    expect(lacked('Que dit le texte de ?', [NOTICE.en])).toBe(0)
    expect(lacked('Was steht in der Vorschrift?', [NOTICE.en])).toBe(0)
    expect(lacked('Quelles sont les finalités de la publicité ?', [NOTICE.en])).toBeGreaterThan(0)
  })
})
