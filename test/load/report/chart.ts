/** One line of a chart. */
export interface Line {
  readonly name: string
  readonly colour: string
  readonly points: readonly (readonly [x: number, y: number])[]
  readonly dashed?: boolean
}

export interface Chart {
  readonly title: string
  readonly xLabel: string
  readonly yLabel: string
  readonly lines: readonly Line[]
  /** Names of the places 0, 1, 2 … on the x axis; numbers are shown without them. */
  readonly xNames?: readonly string[]
  /** Milliseconds that differ by orders of magnitude need a logarithmic axis. */
  readonly logarithmic?: boolean
}

export const COLOURS = ['#c2542d', '#2f6f9f', '#5b8c3a', '#8a5aa3', '#b08900', '#3f7f7a', '#a33b5a', '#6b6b6b'] as const

const WIDTH = 960
const HEIGHT = 300
const MARGIN = { left: 64, right: 16, top: 14, bottom: 46 }
const TICKS = 4

interface Axis {
  readonly at: (value: number) => number
  readonly ticks: readonly number[]
}

/** A line chart as an SVG of its own; every point tells its values. */
export function renderChart(chart: Chart): string {
  const points = chart.lines.flatMap((line) => line.points)
  const xMax = Math.max(1e-9, ...points.map(([x]) => x))
  const x = linear(0, xMax, MARGIN.left, WIDTH - MARGIN.right)
  const y = yAxis(
    points.map(([, value]) => value),
    chart.logarithmic === true,
  )
  const grid = y.ticks.map(
    (tick) =>
      `<line class="grid" x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${y.at(tick)}" y2="${y.at(tick)}"/>` +
      text(MARGIN.left - 8, y.at(tick) + 4, round(tick), 'end'),
  )
  const bottom = HEIGHT - MARGIN.bottom
  const xTicks =
    chart.xNames?.map((name, at) => [at, name] as const) ?? x.ticks.map((tick) => [tick, round(tick)] as const)
  const labels = xTicks.map(([at, name]) => text(x.at(at), bottom + 16, name, 'middle'))
  return `<figure><figcaption>${escape(chart.title)}</figcaption>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escape(chart.title)}">
${[...grid, ...labels].join('')}${text(WIDTH / 2, HEIGHT - 8, chart.xLabel, 'middle')}
${text(MARGIN.left, MARGIN.top - 3, chart.yLabel, 'start')}
${chart.lines.map((line) => drawn(line, x, y)).join('\n')}
</svg>
<p class="key">${chart.lines.map(keyOf).join(' ')}</p></figure>`
}

function drawn({ name, colour, points, dashed }: Line, x: Axis, y: Axis): string {
  const path = points.map(([px, py]) => `${x.at(px).toFixed(1)},${y.at(py).toFixed(1)}`).join(' ')
  const dash = dashed === true ? ' stroke-dasharray="6 4"' : ''
  // Many points need no circles; the line shows them.
  const circles =
    points.length > 60
      ? []
      : points.map(
          ([px, py]) =>
            `<circle cx="${x.at(px).toFixed(1)}" cy="${y.at(py).toFixed(1)}" r="3" fill="${colour}">` +
            `<title>${escape(`${name}: ${round(px)}, ${round(py)}`)}</title></circle>`,
        )
  return `<polyline fill="none" stroke="${colour}" stroke-width="1.8"${dash} points="${path}"/>${circles.join('')}`
}

function keyOf({ name, colour, dashed }: Line): string {
  return `<span><i style="border-top:3px ${dashed === true ? 'dashed' : 'solid'} ${colour}"></i>${escape(name)}</span>`
}

function linear(from: number, to: number, left: number, right: number): Axis {
  const scale = (right - left) / (to - from)
  return {
    at: (value) => left + (value - from) * scale,
    ticks: ticksOf(from, to),
  }
}

/** Round numbers (1, 2 or 5 times a power of ten), at most twice as many as wanted. */
function ticksOf(from: number, to: number): readonly number[] {
  const wanted = (to - from) / TICKS
  const power = 10 ** Math.floor(Math.log10(wanted))
  const step = power * ([5, 2].find((factor) => factor * power <= wanted) ?? 1)
  const first = Math.ceil(from / step)
  return Array.from({ length: Math.floor(to / step) - first + 1 }, (_, n) => (first + n) * step)
}

function yAxis(values: readonly number[], logarithmic: boolean): Axis {
  const [top, bottom] = [MARGIN.top + 8, HEIGHT - MARGIN.bottom]
  if (!logarithmic) return linear(0, Math.max(1, ...values), bottom, top)
  const low = Math.floor(Math.log10(Math.max(1, Math.min(...values))))
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(10, ...values))))
  const exponents = linear(low, high, bottom, top)
  return {
    at: (value) => exponents.at(Math.log10(Math.max(10 ** low, value))),
    ticks: Array.from({ length: high - low + 1 }, (_, n) => 10 ** (low + n)),
  }
}

function text(x: number, y: number, words: string, anchor: 'start' | 'middle' | 'end'): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${escape(words)}</text>`
}

function round(value: number): string {
  return value >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2)
}

export function escape(words: string): string {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
