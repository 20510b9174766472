import { describe, expect, test } from 'vitest'
import { tokenHash } from '#core/index/lexical/token-hash.ts'
import { namedCoverage } from '#search-node/search/named-coverage.ts'
import { said, termsOf, withForward } from '#test/support/search-node/forward-corpus.ts'
import type { ForwardPassage } from '#test/support/search-node/forward-corpus.ts'

function wordsOf(passage: ForwardPassage): Uint32Array {
  const { language, heading, text } = termsOf(passage)
  return Uint32Array.from([...heading, ...text], (term) => tokenHash(language, term))
}

/** Coverage of what is left of a question by passages of the named provision, in a corpus that holds other passages. */
function covered(remainder: string, named: readonly ForwardPassage[], others: readonly ForwardPassage[] = []): number {
  return withForward([...named, ...others], ({ ask }) =>
    namedCoverage(
      ask(remainder),
      named.map((passage) => ({ text: passage, words: wordsOf(passage) })),
    ),
  )
}

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
    [NOTICE.en, ['', '?', 'What does say?', 'Please explain and the meaning of', 'text of']],
    [NOTICE.de, ['', 'Was regelt ?', 'Wortlaut', 'Was steht in ?', 'Voraussetzungen?']],
    [NOTICE.fr, ['', 'Que dit ?', 'Quel est le contenu de ?', 'Que prévoit le texte de ?']],
  ] as const)('that asks for the provision alone has a coverage of 1: %#', (passage, remainders) => {
    for (const remainder of remainders) expect(covered(remainder, [passage]), remainder).toBe(1)
  })

  test.each([
    [NOTICE.en, 'which purposes of processing does provide?', ['does mention pizza?', 'on helicopters and volcanoes']],
    [NOTICE.de, 'welche Zwecke der Verarbeitung?', ['erwähnt Pizza?', 'zu Hubschraubern und Vulkanen']],
    [NOTICE.fr, 'quelles finalités du traitement ?', ['mentionne la pizza ?', 'sur les hélicoptères et les volcans']],
  ] as const)('covers what the provision says, and not what it lacks: %#', (passage, asked, absurd) => {
    expect(covered(asked, [passage])).toBeGreaterThan(0.9)
    for (const remainder of absurd) expect(covered(remainder, [passage]), remainder).toBeLessThan(0.3)
  })

  test('counts what any passage of the provision says, also in a heading or another form', () => {
    const passages = [en('Processing is lawful.'), said('Consent of a child.', { language: 'en', heading: 'Children' })]
    expect(covered('lawful consent', passages)).toBe(1)
    expect(covered('lawful consent', passages.slice(0, 1), passages.slice(1))).toBeLessThan(0.7)
    expect(covered('children', passages)).toBe(1)
  })

  test('lies between 0 and 1 for half of what is asked', () => {
    const others = Array.from({ length: 10 }, (_, n) => en(`Another provision ${n}.`))
    const half = covered('purposes of helicopters', [NOTICE.en], others)
    expect(half).toBeGreaterThan(0.2)
    expect(half).toBeLessThan(0.8)
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
  ])('decides: "%s" is covered iff the provision states one of its kind', (remainder, without, stating) => {
    expect(covered(remainder, [without])).toBeLessThan(0.3)
    expect(covered(remainder, [stating])).toBeGreaterThan(0.5)
  })

  test('that the provision lacks outweighs the words that it holds', () => {
    expect(covered('what fine for processing without purposes of the controller?', [NOTICE.en])).toBeLessThan(0.5)
    expect(covered('processing without purposes of the controller?', [NOTICE.en])).toBeGreaterThan(0.5)
  })
})

describe('a version of several languages', () => {
  test('leaves out function words of the passages’ language that are words of another', () => {
    // "die" and "war" are words of English passages, and function words of German.
    const others = [en('A party may die in a war.'), en('Those who die in a war.')]
    expect(covered('Was sagt die Norm, und wie war die Regelung?', [NOTICE.de], others)).toBe(1)
    expect(covered('is war mentioned?', [NOTICE.en], others)).toBeLessThan(0.3)
  })
})

describe('a question in a language that the version lacks', () => {
  test('is covered if it asks for the provision alone, and not if it asks for more', () => {
    expect(covered('Que dit le texte de ?', [NOTICE.en])).toBe(1)
    expect(covered('Was steht in der Vorschrift?', [NOTICE.en])).toBe(1)
    expect(covered('Quelles sont les finalités de la publicité ?', [NOTICE.en])).toBeLessThan(0.3)
  })
})
