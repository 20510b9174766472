import type { EvaluationReport } from './evaluation-report.ts'
import { NOTHING, html } from '#jobs/platform/page/markup.ts'
import type { Markup } from '#jobs/platform/page/markup.ts'
import { figure, whole } from './numbers.ts'
import { evenTicks, figureOf, legendOf, plotArea, polyline } from '#jobs/platform/page/plot-area.ts'

const LINE_STYLES = ['l1', 'l2', 'l3'] as const
/** Start of the axis unless a recall is lower, so that hundredths are distinguishable. */
const AXIS_FROM = 0.9

/** Renders recall under filters as a drawing, and as numbers because gates depend on them. */
export function filteredRecall(report: EvaluationReport): Markup {
  const kinds = Object.entries(report.filtered_recall_by_kind).slice(0, LINE_STYLES.length)
  const selectivities = Object.keys(report.filtered_recall).toSorted((a, b) => Number(b) - Number(a))
  if (selectivities.length === 0) return NOTHING
  const columns = [...kinds, ['lowest', report.filtered_recall] as const]
  const table = html`<div class="scroll" tabindex="0">
    <table>
      <thead>
        <tr>
          <th>Allowed</th>
          ${columns.map(([kind]) => html`<th class="n">${kind}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${selectivities.map(
          (selectivity) =>
            html`<tr>
              <th>${selectivity} %${fewer(report, selectivity)}</th>
              ${columns.map(([, recall]) => html`<td class="n">${figure(recall[selectivity] ?? null)}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`
  return html`<h2>Recall under filters</h2>
    <p>
      Of the ten nearest passages that a filter allows, the share that the search returns, against exact search over all
      of them.${sampleOf(report)}
    </p>
    <div class="plots">
      ${plot(report, kinds, selectivities)}
      <div>${table}</div>
    </div>`
}

/** The mark of a recall that refers to fewer than ten passages. */
function fewer({ filtered_recall_sample: sample }: EvaluationReport, selectivity: string): Markup {
  if (!sample.fewer_than_10_passages.includes(selectivity)) return NOTHING
  return html` <span class="soft small">fewer than 10 passages</span>`
}

function sampleOf({ filtered_recall_sample: sample }: EvaluationReport): Markup {
  return html` Asked: ${whole(sample.questions)} questions and the vectors of ${whole(sample.sampled_rows)} passages.`
}

function plot(
  report: EvaluationReport,
  kinds: readonly (readonly [string, Readonly<Record<string, number>>])[],
  selectivities: readonly string[],
): Markup {
  const lines = kinds.length > 0 ? kinds : [['recall', report.filtered_recall] as const]
  const lowest = Math.min(AXIS_FROM, ...lines.flatMap(([, recall]) => Object.values(recall)))
  const from = Math.floor(lowest * 10) / 10
  const steps = from < AXIS_FROM ? Math.round((1 - from) * 10) : 5
  const index = (selectivity: string): number => selectivities.indexOf(selectivity)
  const bounds = report.gates.filter((gate) => gate.group === 'filtered recall').map((gate) => gate.bound)
  const last = Math.max(1, selectivities.length - 1)
  const area = plotArea(
    {
      title: 'passages that the filter allows',
      from: -0.2,
      to: last + 0.2,
      ticks: selectivities.map((selectivity) => [index(selectivity), `${selectivity} %`]),
    },
    { title: 'recall@10', from, to: 1, ticks: evenTicks(from, 1, steps, (value) => value.toFixed(2)) },
  )
  const bound = bounds.length === 0 ? undefined : Math.max(...bounds)
  const gate =
    bound === undefined
      ? NOTHING
      : html`<line
            class="mark"
            x1="${area.x(-1)}"
            x2="${area.x(last + 1)}"
            y1="${area.y(bound)}"
            y2="${area.y(bound)}"
          /><text class="strong" x="${area.x(-1)}" dx="4" y="${area.y(bound)}" dy="15">gate ${bound.toFixed(2)}</text>`
  const drawn = lines.map(([kind, recall], at) => {
    const points = Object.entries(recall)
      .filter(([selectivity]) => index(selectivity) >= 0)
      .sort(([a], [b]) => index(a) - index(b))
    const dots = points.map(
      ([selectivity, value]) =>
        html`<circle class="f${at + 1}" cx="${area.x(index(selectivity))}" cy="${area.y(value)}" r="3.5"
          ><title>${kind}, ${selectivity} %: ${figure(value)}</title></circle
        >`,
    )
    return html`${polyline(
      area,
      LINE_STYLES[at] ?? 'l1',
      points.map(([selectivity, value]) => [index(selectivity), value]),
    )}${dots}`
  })
  const legend = legendOf(lines.map(([kind], at) => [LINE_STYLES[at] ?? 'l1', kind] as const))
  return figureOf(
    'By selectivity',
    'Narrower filters are to the right. A good result is a flat line near 1.',
    legend,
    area.draw('Recall by selectivity', [gate, ...drawn]),
  )
}
