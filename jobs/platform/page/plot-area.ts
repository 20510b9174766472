import { html } from './markup.ts'
import type { Markup } from './markup.ts'

/** Units of the view box; text is 12 units high, so that it stays readable on a page of 500 pixels. */
const WIDTH = 480
const HEIGHT = 290
const LEFT = 64
const RIGHT = 14
const TOP = 12
const BOTTOM = 44

export interface Axis {
  readonly title: string
  /** Values at the axis's ends. */
  readonly from: number
  readonly to: number
  readonly ticks: readonly (readonly [at: number, label: string])[]
}

export interface PlotArea {
  readonly x: (value: number) => string
  readonly y: (value: number) => string
  readonly width: number
  readonly height: number
  /** Returns the drawing: axes and marks. */
  readonly draw: (label: string, marks: readonly Markup[]) => Markup
}

/** Makes a plot area with a grid and two linear axes; values outside are drawn on the edge. */
export function plotArea(horizontal: Axis, vertical: Axis): PlotArea {
  const width = WIDTH - LEFT - RIGHT
  const height = HEIGHT - TOP - BOTTOM
  const x = (value: number): string => (LEFT + along(value, horizontal) * width).toFixed(1)
  const y = (value: number): string => (TOP + (1 - along(value, vertical)) * height).toFixed(1)
  const [left, right, top, bottom] = [LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM]
  const below = horizontal.ticks.map(
    ([at, label]) => html`<text x="${x(at)}" y="${bottom + 17}" text-anchor="middle">${label}</text>`,
  )
  const axes = html`${vertical.ticks.map(
      ([at, label]) =>
        html`<line class="grid" x1="${left}" x2="${right}" y1="${y(at)}" y2="${y(at)}" /><text
            x="${left - 7}"
            y="${y(at)}"
            dy="4"
            text-anchor="end"
            >${label}</text
          >`,
    )}${below}<line class="axis" x1="${left}" x2="${right}" y1="${bottom}" y2="${bottom}" /><text
      x="${left + width / 2}"
      y="${HEIGHT - 6}"
      text-anchor="middle"
      >${horizontal.title}</text
    ><text transform="translate(14 ${top + height / 2}) rotate(-90)" text-anchor="middle">${vertical.title}</text>`
  return {
    x,
    y,
    width,
    height,
    draw: (label, marks) =>
      html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}">${axes}${marks}</svg>`,
  }
}

/** @param unit turns a tick's value into its label. */
export function evenTicks(
  from: number,
  to: number,
  steps: number,
  unit: (value: number) => string,
): readonly (readonly [number, string])[] {
  return Array.from({ length: steps + 1 }, (_, at) => from + ((to - from) * at) / steps).map(
    (value) => [value, unit(value)] as const,
  )
}

export function polyline(area: PlotArea, style: string, points: readonly (readonly [number, number])[]): Markup {
  return html`<polyline
    class="line ${style}"
    points="${points.map(([x, y]) => `${area.x(x)},${area.y(y)}`).join(' ')}"
  />`
}

/** Renders a drawing with a title and a one-line explanation above it. */
export function figureOf(title: string, explanation: string, legend: Markup, drawing: Markup): Markup {
  return html`<figure>
    <h3>${title}</h3>
    <figcaption>${explanation}</figcaption>
    ${legend}${drawing}
  </figure>`
}

/** @param entries style class of a line, or of a filled box, and what it stands for. */
export function legendOf(entries: readonly (readonly [style: string, meaning: string])[]): Markup {
  const key = (style: string): Markup =>
    style.startsWith('l')
      ? html`<svg viewBox="0 0 26 10" aria-hidden="true">
          <line class="line ${style}" x1="0" x2="26" y1="5" y2="5" />
        </svg>`
      : html`<svg viewBox="0 0 26 10" aria-hidden="true"><rect class="${style}" x="8" width="10" height="10" /></svg>`
  return html`<div class="legend">
    ${entries.map(([style, meaning]) => html`<span>${key(style)}${meaning}</span>`)}
  </div>`
}

function along(value: number, { from, to }: Axis): number {
  return Math.min(1, Math.max(0, (value - from) / (to - from)))
}
