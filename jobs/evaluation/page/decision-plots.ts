import type { EvaluationReport } from './evaluation-report.ts'
import { NOTHING, html } from '#jobs/platform/page/markup.ts'
import type { Markup } from '#jobs/platform/page/markup.ts'
import { figure, percent } from './numbers.ts'
import { evenTicks, figureOf, legendOf, plotArea, polyline } from '#jobs/platform/page/plot-area.ts'

export type Abstention = NonNullable<EvaluationReport['abstention']>

/** Minimum end of the risk axis, so that a good curve does not look steep. */
const RISK_AXIS_MIN = 0.2
const DOT_RADIUS_MAX = 9
const DOT_RADIUS_MIN = 2.5

const percentTick = (value: number): string => `${Math.round(value * 100)} %`
const shareTick = (value: number): string => value.toFixed(1)

export function riskCoveragePlot({ curve, target_risk: target, coverage_at_target: coverage }: Abstention): Markup {
  if (curve.length === 0) return NOTHING
  const highest = Math.max(RISK_AXIS_MIN, target * 1.5, ...curve.map(([, risk]) => risk))
  const top = Math.min(1, Math.ceil(highest * 10) / 10)
  const area = plotArea(
    { title: 'questions answered', from: 0, to: 1, ticks: evenTicks(0, 1, 5, percentTick) },
    {
      title: 'answers without evidence',
      from: 0,
      to: top,
      ticks: evenTicks(0, top, Math.round(top * 10) <= 5 ? Math.round(top * 10) : 5, percentTick),
    },
  )
  const marks = [
    html`<line class="mark" x1="${area.x(0)}" x2="${area.x(1)}" y1="${area.y(target)}" y2="${area.y(target)}" /><text
        class="strong"
        x="${area.x(0)}"
        dx="4"
        y="${area.y(target)}"
        dy="-5"
        >target ${percent(target)}</text
      >`,
    polyline(area, 'l1', curve),
    coverage === null || coverage === 0
      ? NOTHING
      : html`<circle class="ring" cx="${area.x(coverage)}" cy="${area.y(riskAt(curve, coverage))}" r="5"
          ><title>${percent(coverage)} answered at the threshold</title></circle
        >`,
  ]
  const explanation =
    'Share of the answers without evidence when the highest-scored questions are answered first. Lower is ' +
    'better; the ring marks the threshold.'
  return figureOf('Risk and coverage', explanation, NOTHING, area.draw('Risk–coverage curve', marks))
}

/** Interpolates the risk between the points of the curve. */
function riskAt(curve: Abstention['curve'], coverage: number): number {
  const after = curve.findIndex(([at]) => at >= coverage)
  const [to, from] = [curve[after] ?? curve.at(-1), curve[after - 1]]
  if (to === undefined) return 0
  if (from === undefined || to[0] === from[0]) return to[1]
  return from[1] + ((to[1] - from[1]) * (coverage - from[0])) / (to[0] - from[0])
}

export function reliabilityPlot({ reliability }: Abstention): Markup {
  const largest = Math.max(0, ...reliability.map((bin) => bin.questions))
  if (largest === 0) return NOTHING
  const area = plotArea(
    { title: 'predicted probability of evidence', from: 0, to: 1, ticks: evenTicks(0, 1, 5, shareTick) },
    { title: 'observed share', from: 0, to: 1, ticks: evenTicks(0, 1, 5, shareTick) },
  )
  const points = reliability.flatMap(({ predicted, observed, questions }) =>
    predicted === null || observed === null ? [] : [{ predicted, observed, questions }],
  )
  const dots = points.map(({ predicted, observed, questions }) => {
    const radius = Math.max(DOT_RADIUS_MIN, DOT_RADIUS_MAX * Math.sqrt(questions / largest)).toFixed(1)
    return html`<circle class="f1" cx="${area.x(predicted)}" cy="${area.y(observed)}" r="${radius}"
      ><title>${questions} questions: predicted ${figure(predicted)}, observed ${figure(observed)}</title></circle
    >`
  })
  const diagonal = html`<line class="mark" x1="${area.x(0)}" y1="${area.y(0)}" x2="${area.x(1)}" y2="${area.y(1)}" />`
  const line = polyline(
    area,
    'l1',
    points.map(({ predicted, observed }) => [predicted, observed]),
  )
  const explanation =
    'On the diagonal, the predicted probability equals the observed share; below it, the service is ' +
    'overconfident. Larger dots stand for more questions.'
  return figureOf('Reliability', explanation, NOTHING, area.draw('Reliability diagram', [diagonal, line, ...dots]))
}

export function distributionPlot({ distribution, threshold }: Abstention): Markup {
  const { sufficient, insufficient } = distribution
  const [above, below] = [Math.max(0, ...sufficient), Math.max(0, ...insufficient)]
  if (above + below === 0) return NOTHING
  const bins = sufficient.length
  const ticks = [...new Set([-below, 0, above])].map((value) => [value, String(Math.abs(value))] as const)
  const area = plotArea(
    { title: 'observed value', from: 0, to: 1, ticks: evenTicks(0, 1, 5, shareTick) },
    { title: 'questions', from: -below, to: above, ticks },
  )
  const width = Math.max(1, area.width / bins - 1.5).toFixed(1)
  const bars = (counts: readonly number[], sign: 1 | -1, style: string, meaning: string): readonly Markup[] =>
    counts.flatMap((count, bin) => {
      const height = Math.abs(Number(area.y(count)) - Number(area.y(0))).toFixed(1)
      const title = `${count} ${meaning}, ${(bin / bins).toFixed(2)} to ${((bin + 1) / bins).toFixed(2)}`
      return count === 0
        ? []
        : [
            html`<rect
              class="${style}"
              x="${area.x(bin / bins)}"
              y="${area.y(sign === 1 ? count : 0)}"
              width="${width}"
              height="${height}"
              ><title>${title}</title></rect
            >`,
          ]
    })
  const anchor = threshold > 0.75 ? 'end' : 'start'
  const marks = [
    ...bars(sufficient, 1, 'f1', 'with evidence'),
    ...bars(insufficient, -1, 'f2', 'without evidence'),
    html`<line class="axis" x1="${area.x(0)}" x2="${area.x(1)}" y1="${area.y(0)}" y2="${area.y(0)}" /><line
        class="mark"
        x1="${area.x(threshold)}"
        x2="${area.x(threshold)}"
        y1="${area.y(area.height)}"
        y2="${area.y(-area.height)}"
      /><text
        class="strong"
        x="${area.x(threshold)}"
        dx="${anchor === 'end' ? -5 : 5}"
        y="${area.y(above)}"
        dy="9"
        text-anchor="${anchor}"
        >threshold ${figure(threshold)}</text
      >`,
  ]
  const legend = legendOf([['f1', 'with evidence'], ...(below > 0 ? ([['f2', 'without evidence']] as const) : [])])
  const explanation =
    'Observed values of questions with and without evidence. Questions right of the threshold are answered.'
  return figureOf('Observed values', explanation, legend, area.draw('Distribution of observed values', marks))
}
