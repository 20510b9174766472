import { readFileSync } from 'node:fs'
import { createActAliases } from '#law/citations/parser.ts'

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
