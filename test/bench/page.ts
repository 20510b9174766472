import { renderDocument } from '#jobs/platform/page/document.ts'
import { html } from '#jobs/platform/page/markup.ts'
import type { Markup } from '#jobs/platform/page/markup.ts'
import { evenTicks, figureOf, legendOf, plotArea } from '#jobs/platform/page/plot-area.ts'
import { tableOf } from '#jobs/platform/page/table.ts'
import type { Cell } from './measure.ts'
import { PATHS } from './paths.ts'
import { REBUILD_HEAD, rebuildRows } from './rebuild.ts'
import { REFUSAL_HEAD, refusalRow } from './refusals.ts'
import type { BenchResult } from './result.ts'
import { CELL_HEAD, rowOf } from './table.ts'

const EXPLANATION =
  'Raw: the search alone on its threads, with words and vectors; dense: with vectors alone. gRPC: the search node over ' +
  'gRPC. Full: a request over HTTP with admission, reservation, embedding, search, record and ledger.'

/** All results of a run on one self-contained page: the thresholds, questions per second by path, the table. */
export function renderPage(result: BenchResult): string {
  const { passages, dimensions, threads, seconds, at, cells, thresholds, found, refusals, rebuild } = result
  const highest = Math.max(1, ...cells.flatMap((cell) => PATHS.map((path) => cell.paths[path].per_second)))
  const plain = (row: readonly string[]): { readonly cells: readonly string[] } => ({ cells: row })
  return renderDocument(
    `Benchmark of ${at}`,
    html`<p>
        ${passages} passages × ${dimensions} dimensions, ${threads} search threads, ${seconds} s a cell and path.
      </p>
      <p>${EXPLANATION}</p>
      <h2>Questions a second, by path</h2>
      <div class="plots">
        ${[...Map.groupBy(cells, ({ selectivity }) => selectivity).values()].map((alike) => columns(alike, highest))}
      </div>
      <h2>Thresholds</h2>
      ${tableOf(
        ['', 'wanted', 'measured', ''],
        thresholds.map(({ name, wanted, measured, met }) => ({
          cells: [name, wanted, measured, met ? 'met' : 'missed'],
          style: met ? 'good' : 'bad',
        })),
      )}
      <h2>Cells</h2>
      ${tableOf(
        CELL_HEAD,
        cells.map((cell) => plain(rowOf(cell, found))),
      )}
      <h2>Requests that are refused</h2>
      <p>The dearest request that each stage is known to refuse. Own: the gateway's time without what it awaits.</p>
      ${tableOf(
        REFUSAL_HEAD,
        refusals.map((refusal) => plain(refusalRow(refusal))),
      )}
      <h2>Rebuild of limit counters</h2>
      <p>One process counts one organization anew and admits requests of others, whose latencies are shown.</p>
      ${tableOf(REBUILD_HEAD, rebuildRows(rebuild).map(plain))}`,
  )
}

/** One group of columns a cell of one filter, one column a path. */
function columns(cells: readonly Cell[], highest: number): Markup {
  const selectivity = cells[0]?.selectivity ?? ''
  const area = plotArea(
    {
      title: 'clients',
      from: 0,
      to: cells.length,
      ticks: cells.map(({ clients }, at) => [at + 0.5, String(clients)]),
    },
    {
      title: 'questions a second',
      from: 0,
      to: highest,
      ticks: evenTicks(0, highest, 4, (value) => value.toFixed(0)),
    },
  )
  const width = (area.width / cells.length) * 0.2
  const marks = cells.flatMap((cell, at) =>
    PATHS.map((path, number) => {
      const { per_second } = cell.paths[path]
      const top = Number(area.y(per_second))
      return html`<rect
        class="f${number + 1}"
        x="${area.x(at + 0.08 + number * 0.22)}"
        y="${top}"
        width="${width.toFixed(1)}"
        height="${(Number(area.y(0)) - top).toFixed(1)}"
        ><title>${path}, ${selectivity}, ${cell.clients} client(s): ${per_second.toFixed(0)} a second</title></rect
      >`
    }),
  )
  const legend = legendOf(PATHS.map((path, number) => [`f${number + 1}`, path]))
  const allowed = selectivity === 'unfiltered' ? 'No filter.' : `A filter that allows ${selectivity} of the passages.`
  return figureOf(selectivity, allowed, legend, area.draw(`Questions a second by path, ${selectivity}`, marks))
}
