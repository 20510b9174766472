import { fnv1a } from '#core/index/analysis/ngrams.ts'

/** FNV-1a over `language:term`; 32 bits, never 0. The forward index identifies terms by it. */
export function tokenHash(language: string, term: string): number {
  return fnv1a(term, fnv1a(':', fnv1a(language))) >>> 0 || 1
}
