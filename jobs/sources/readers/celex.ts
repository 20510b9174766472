/** Words for the kinds of acts of the European Union, by the letter that a CELEX number has for it (sector 3). */
const INSTRUMENTS: readonly (readonly [RegExp, string])[] = [
  [
    /\b(?:regulation|verordnung|r[eè]glement|reglamento|regolamento|regulamento|verordening|rozporz[aą]dzenie|forordning|f[oö]rordning|asetus|na[rř][ií]zen[ií]|nariadenie|rendelet|m[aä][aä]rus|regula|reglamentas|regulament(?:ul)?|uredba)\b|регламент|κανονισμός|regolament/iu,
    'R',
  ],
  [
    /\b(?:directive|richtlinie|directiva|direttiva|diretiva|richtlijn|dyrektywa|direktiv(?:et)?|direktiivi?|sm[eě]rnice|smernica|ir[aá]nyelv|direkt[iī]va|direktyva)\b|директива|οδηγία/iu,
    'L',
  ],
  [
    /\b(?:decision|beschluss|d[eé]cision|decisi[oó]n|decisione|decis[aã]o|besluit|decyzja|afg[oø]relse|beslut|p[aä][aä]t[oö]s|rozhodnut[ií]|hat[aá]rozat|otsus|l[eē]mums|sprendimas|decizi[ae]|odluka|sklep)\b|решение|απόφαση/iu,
    'D',
  ],
]

/** Returns the letter of the kind of act that a title names first. */
export function instrumentIn(title: string): string | undefined {
  const found = INSTRUMENTS.map(([words, letter]) => ({ letter, at: words.exec(title)?.index ?? -1 })).filter(
    ({ at }) => at !== -1,
  )
  return found.toSorted((a, b) => a.at - b.at)[0]?.letter
}

const VALUES: ReadonlyMap<string, string> = new Map([
  ['REG', 'R'],
  ['DIR', 'L'],
  ['DEC', 'D'],
  ['DECIMP', 'D'],
])

/** Returns the CELEX number of an act of sector 3: `32016R0679`. */
export function celexOf(
  year: string | undefined,
  number: string | undefined,
  kind: string | undefined,
): string | undefined {
  const letter = VALUES.get(kind ?? '') ?? (kind?.length === 1 ? kind : undefined)
  if (letter === undefined || year === undefined || number === undefined || !/^\d{1,4}$/.test(number)) return undefined
  const full = /^\d{4}$/.test(year) ? year : /^\d{2}$/.test(year) ? `19${year}` : undefined
  return full === undefined ? undefined : `3${full}${letter}${number.padStart(4, '0')}`
}

/** Returns the CELEX number of an act by the number in its title: `Regulation (EU) 2016/679`, `(EU) No 604/2013`. */
export function celexInTitle(title: string): string | undefined {
  const start = title.slice(0, 120)
  const named = INSTRUMENTS.some(([words]) => (words.exec(start)?.index ?? 99) < 30)
  if (!named || /proposal|resolution/i.test(start)) return undefined
  const kind = instrumentIn(start)
  const [, first, second] =
    /(?:\((?:EU|EC|EEC|Euratom|UE|CE|EG|EWG)[^)]*\)|\b)\s*(?:No|Nr\.?|n[°o]\.?)?\s*(\d{1,4})\/(\d{2,4})/.exec(title) ??
    []
  if (first === undefined || second === undefined) return undefined
  const isYearFirst = /^(?:19|20)\d\d$/.test(first) && !(/^(?:19|20)\d\d$/.test(second) && /No|Nr|n°/.test(start))
  return isYearFirst ? celexOf(first, second, kind) : celexOf(second, first, kind)
}
