import { canonicalReference, referencesIn } from '#law/citations/parser.ts'
import { CORPUS_ALIASES, readCases, readLanguageCases } from '#test/law/citations/cases.ts'

const actOf = (canonical: string): string => canonical.split('#', 1)[0] ?? ''

/** Scores the cases whose names go on, have a place beside them, or are of a language without a grammar. */
export function measureClasses() {
  const named = readCases('names').map((one) => ({ ...one, aliases: CORPUS_ALIASES }))
  const ofLanguages = readLanguageCases().map((one) => ({ ...one, family: `language ${one.family}` }))
  return [...Map.groupBy([...named, ...ofLanguages], ({ family }) => family)].map(([name, cases]) => {
    // Of `wrongActs`, a version that holds every provision of every act would serve one of an act that is not named.
    const score = { name, cases: cases.length, right: 0, found: 0, expected: 0, wrongActs: [] as string[] }
    for (const { query, expected, aliases } of cases) {
      const { certain, ifHeld } = referencesIn(query, aliases)
      const found = certain.map(({ reference }) => canonicalReference(reference))
      const acts = new Set(expected.map(actOf))
      const served = [...certain, ...ifHeld].map(({ reference }) => actOf(canonicalReference(reference)))
      score.right += found.filter((each) => expected.includes(each)).length
      score.found += found.length
      score.expected += expected.length
      if (acts.size > 0 && served.some((act) => !act.startsWith('name:') && !acts.has(act))) score.wrongActs.push(query)
    }
    return score
  })
}
