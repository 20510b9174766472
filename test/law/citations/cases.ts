import { readFileSync } from 'node:fs'
import { createActAliases, type ActAliases } from '#law/citations/parser.ts'

export interface Case {
  readonly family: string
  /** Canonical references in no order; none for a hard negative. */
  readonly expected: readonly string[]
  readonly query: string
}

/** One case a line: family, canonical references or `-`, query; separated by tabs. */
export function readCases(name: string): Case[] {
  const lines = readFileSync(new URL(`./cases/${name}.tsv`, import.meta.url), 'utf8').split('\n')
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const [family = '', expected = '', query = ''] = line.split('\t')
      return { family, expected: expected === '-' ? [] : expected.split(' '), query }
    })
}

/**
 * Cases of versions in other languages: a line with a language, a jurisdiction, taught words and the names
 * of its acts, then its cases.
 */
export function readLanguageCases(): (Case & { readonly aliases: ActAliases })[] {
  const cases: (Case & { readonly aliases: ActAliases })[] = []
  let aliases = createActAliases([])
  for (const one of readCases('languages')) {
    const [jurisdiction = '', ...designators] = one.expected
    if (/^[A-Z]{2}$/.test(jurisdiction)) {
      const names = one.query.split(';').map((name) => {
        const [alias = '', act = ''] = name.split('=')
        return [alias, act] as const
      })
      aliases = createActAliases(names, { languages: [one.family], jurisdictions: [jurisdiction], designators })
    } else cases.push({ ...one, aliases })
  }
  return cases
}

/** What a corpus of rulebooks calls its acts. */
export const CORPUS_ALIASES = createActAliases([
  ['AML', 'rulebook:aml'],
  ['AML Rulebook', 'rulebook:aml'],
  ['Anti-Money Laundering Rulebook', 'rulebook:aml'],
  ['COBS', 'rulebook:cobs'],
  ['COB-F', 'rulebook:cob-f'],
  ['FSMR', 'rulebook:fsmr'],
  ['FUNDS', 'rulebook:funds'],
  ['Fees Rules (FEES)', 'rulebook:fees'],
  ['GEN', 'rulebook:gen'],
  ['MIR', 'rulebook:mir'],
  ['PIN', 'rulebook:pin'],
  ['PRU', 'rulebook:pru'],
])
