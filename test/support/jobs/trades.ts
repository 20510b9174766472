const SYLLABLES = ['bra', 'cor', 'dul', 'fen', 'gim', 'hap', 'jor', 'kel'] as const

/** Sixty words that stand in no list and no other text. */
export const TRADES = Array.from(
  { length: 60 },
  (_, n) => `${SYLLABLES[n % 8] ?? ''}${SYLLABLES[Math.floor(n / 8)] ?? ''}wright`,
)

/** How the Markdown source of a code on trades begins. @param url its canonical URL. */
export function frontMatter(document: string, title: string, url: string): string {
  return `---
document: ${document}
title: ${title}
authority: Test Authority
canonical_url: ${url}
language: en
jurisdiction: XA
subject: trades
published_at: 2020-01-01
effective_at: 2020-02-01
verification_status: verified
---

# Trades Code
`
}

/** The Markdown source of a code with two or more provisions on every trade. */
export function tradesCode(provisionsOn: (trade: string) => readonly string[]): string {
  const front = frontMatter('trades', 'Trades Code', 'https://trades.example/code')
  return [front, ...TRADES.flatMap(provisionsOn)].join('\n')
}
