import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { foldCode, foldKey } from '#core/identity/fold.ts'
import { OperatorError } from '#core/platform/errors.ts'

/** Lists of codes as an entitlement stores them: canonical, without repeats, sorted. */

/** Returns the BCP 47 canonical form: `EN-us` becomes `en-US`. */
export function canonicalLanguages(languages: readonly string[]): readonly string[] {
  return bounded('language', languages, (text) => {
    try {
      return Intl.getCanonicalLocales(text)[0] ?? refuse('language', text, 'a BCP 47 code like en or fr')
    } catch {
      return refuse('language', text, 'a BCP 47 code like en or fr')
    }
  })
}

/** Returns codes in upper case: `hs-m` becomes `HS-M`. */
export function canonicalJurisdictions(jurisdictions: readonly string[]): readonly string[] {
  return bounded('jurisdiction', jurisdictions, (text) =>
    isCode(text) ? foldCode(text) : refuse('jurisdiction', text, 'a code like US or HS-M'),
  )
}

/** Returns the keys of subjects. @param subjects null: every subject. */
export function checkedSubjects(subjects: readonly string[] | null): readonly string[] | null {
  return subjects === null
    ? null
    : bounded('subject', subjects, (text) =>
        isCode(text) ? foldKey(text) : refuse('subject', text, 'a slug like data-protection'),
      )
}

function isCode(text: string): boolean {
  return text !== '' && text.length <= SEARCH_BOUNDS.filterValueCharactersMax && !/[,\p{Cc}]/u.test(text)
}

function bounded(what: string, values: readonly string[], canonical: (text: string) => string): readonly string[] {
  if (values.length === 0)
    throw new OperatorError(`An entitlement needs at least one ${what}: name those it covers, separated by commas.`)
  if (values.length > SEARCH_BOUNDS.filterValuesMax)
    throw new OperatorError(`An entitlement has at most ${SEARCH_BOUNDS.filterValuesMax} values a list: name fewer.`)
  return [...new Set(values.map((value) => canonical(value.trim())))].sort()
}

function refuse(what: string, text: string, wanted: string): never {
  throw new OperatorError(
    `"${text.slice(0, SEARCH_BOUNDS.filterValueCharactersMax)}" is not a ${what}: write ${wanted}.`,
  )
}
