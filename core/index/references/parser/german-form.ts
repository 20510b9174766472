import type { Token } from './tokens.ts'

/** Legal forms of companies, and states, that look like the abbreviation of an act. */
const NO_ACT = new Set(['ag', 'kg', 'ohg', 'gbr', 'ug', 'eg', 'eu', 'usa', 'ggmbh', 'kgaa'])
/**
 * An act's abbreviation ends with the capital of `Gesetz`, `Ordnung`, `Buch`, `Verordnung`, `Recht`, `Vertrag`,
 * `Satzung`.
 */
const ABBREVIATION = /^\p{Lu}[\p{L}]{0,9}[GOBVRS]$/u

/** Whether a word has the form of a German act's abbreviation: `InsO`, `BGB`. */
export function isGermanForm({ raw, text }: Token): boolean {
  return ABBREVIATION.test(raw) && !NO_ACT.has(text)
}

/** Whether a word has the form of a national act's abbreviation. Those of the EU end with `VO` or `R`. */
export function isNationalForm(token: Token): boolean {
  return isGermanForm(token) && /(?:G|B|[^V]O)$/.test(token.raw)
}
