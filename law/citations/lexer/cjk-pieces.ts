const PIECES =
  /第|[〇一二三四五六七八九十百千]+(?=[条條項号の]|$)|[条條項号](?=第|の|$)|[\p{sc=Han}\p{sc=Kana}ー]+?(?=第|$|[\p{sc=Hira}])|\p{sc=Hira}+|\p{sc=Hang}+/gu
const DIGITS = '〇一二三四五六七八九'
const UNITS: Readonly<Record<string, number>> = { 十: 10, 百: 100, 千: 1000 }

/** Cuts a run of letters where words of a citation begin: `民法第七百九条` is five words. */
export function cjkPieces(run: string, afterNumber: boolean): readonly string[] {
  // `750조는`: a counter, and a particle.
  const counter = afterNumber ? /^(?:[条條項号の조항호의])/u.exec(run)?.[0] : undefined
  if (counter !== undefined && counter !== run)
    return [counter, ...cjkPieces(run.slice(counter.length), counter !== 'の')]
  if (counter !== undefined) return [run]
  const pieces = run.match(PIECES) ?? [run]
  return pieces.join('') === run ? pieces : [run]
}

/** The value of a number in Han figures: `七百九` is 709. */
export function hanNumber(text: string): string | undefined {
  if (!/^[〇一二三四五六七八九十百千]+$/u.test(text)) return undefined
  let [sum, digit] = [0, 0]
  for (const figure of text) {
    const unit = UNITS[figure]
    if (unit === undefined) digit = digit * 10 + DIGITS.indexOf(figure)
    else [sum, digit] = [sum + Math.max(digit, 1) * unit, 0]
  }
  return String(sum + digit)
}
