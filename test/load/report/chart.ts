import { html } from '#jobs/platform/page/markup.ts'
import type { Markup } from '#jobs/platform/page/markup.ts'
import { figureOf, legendOf, plotArea, polyline } from '#jobs/platform/page/plot-area.ts'
import type { Axis } from '#jobs/platform/page/plot-area.ts'

/** One line of a chart. */
export interface Line {
  readonly name: string
  readonly points: readonly (readonly [x: number, y: number])[]
}

export interface Chart {
  readonly title: string
  readonly explanation: string
  readonly xLabel: string
  readonly yLabel: string
  /** At most `LINES_MAX`. */
  readonly lines: readonly Line[]
  /** Names of the places 0, 1, 2 … on the x axis; numbers are shown without them. */
  readonly xNames?: readonly string[]
  /** Milliseconds that differ by orders of magnitude need a logarithmic axis. */
  readonly logarithmic?: boolean
}

/** Styles of lines on a page. */
export const LINES_MAX = 6
const TICKS = 4
/** A line of more points shows no circles. */
const CIRCLES_MAX = 60

/** Renders a line chart; every point tells its values. */
export function renderChart(chart: Chart): Markup {
  const { title, explanation, xLabel, yLabel, lines, xNames, logarithmic = false } = chart
  const points = lines.flatMap((line) => line.points)
  const scaled = (value: number): number => (logarithmic ? Math.log10(Math.max(1, value)) : value)
  const xTo = Math.max(1e-9, ...points.map(([x]) => x))
  const xTicks =
    xNames?.map((name, at) => [at, name] as const) ?? ticksOf(xTo).map((tick) => [tick, round(tick)] as const)
  const area = plotArea(
    { title: xLabel, from: 0, to: xTo, ticks: xTicks },
    yAxis(
      yLabel,
      points.map(([, y]) => y),
      logarithmic,
    ),
  )
  const marks = lines.flatMap((line, at) => [
    polyline(
      area,
      `l${at + 1}`,
      line.points.map(([x, y]) => [x, scaled(y)]),
    ),
    ...(line.points.length > CIRCLES_MAX ? [] : line.points).map(
      ([x, y]) =>
        html`<circle class="f${at + 1}" cx="${area.x(x)}" cy="${area.y(scaled(y))}" r="3"
          ><title>${line.name}: ${round(x)}, ${round(y)}</title></circle
        >`,
    ),
  ])
  const legend = legendOf(lines.map(({ name }, at) => [`l${at + 1}`, name]))
  return figureOf(title, explanation, legend, area.draw(title, marks))
}

function yAxis(title: string, values: readonly number[], logarithmic: boolean): Axis {
  if (!logarithmic) {
    const to = Math.max(1, ...values)
    return { title, from: 0, to, ticks: ticksOf(to).map((tick) => [tick, round(tick)]) }
  }
  const from = Math.floor(Math.log10(Math.max(1, Math.min(...values))))
  const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(10, ...values))))
  const ticks = Array.from({ length: to - from + 1 }, (_, n) => [from + n, round(10 ** (from + n))] as const)
  return { title, from, to, ticks }
}

/** Round numbers (1, 2 or 5 times a power of ten) from 0, at most twice as many as wanted. */
function ticksOf(to: number): readonly number[] {
  const wanted = to / TICKS
  const power = 10 ** Math.floor(Math.log10(wanted))
  const step = power * ([5, 2].find((factor) => factor * power <= wanted) ?? 1)
  return Array.from({ length: Math.floor(to / step) + 1 }, (_, n) => n * step)
}

function round(value: number): string {
  return value >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2)
}
