const MINUS = '\u2212'
const NO_VALUE = '–'

/** Formats a figure with three decimals, as is usual for retrieval figures; a dash for null. */
export function figure(value: number | null): string {
  return value === null ? NO_VALUE : withMinus(value.toFixed(3))
}

export function signed(value: number): string {
  const written = value.toFixed(3)
  return value > 0 && Number(written) !== 0 ? `+${written}` : withMinus(written)
}

export function range([low, high]: readonly [number, number]): string {
  return `${figure(low)} – ${figure(high)}`
}

export function percent(value: number | null): string {
  return value === null ? NO_VALUE : `${withMinus((value * 100).toFixed(1))} %`
}

/** Formats a whole number with a narrow space between thousands. */
export function whole(value: number): string {
  return String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, '\u202f')
}

export function milliseconds(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 1)} ms`
}

/** Replaces the minus sign; zero has no sign, even after rounding. */
function withMinus(written: string): string {
  return Number(written) === 0 ? written.replace('-', '') : written.replace('-', MINUS)
}
