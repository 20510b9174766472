import type { Threshold } from './thresholds.ts'
import type { Cell } from './measure.ts'
import { REBUILD_HEAD, rebuildRows } from './rebuild.ts'
import { REFUSAL_HEAD, refusalRow } from './refusals.ts'
import type { BenchResult } from './result.ts'
import { PATHS } from './paths.ts'
import type { PathName } from './paths.ts'
import { CELL_HEAD, rowOf } from './table.ts'

const COLOURS: Readonly<Record<PathName, string>> = {
  raw: '#9aa5b1',
  dense: '#c9b458',
  grpc: '#4a7fb5',
  full: '#c2542d',
}
const WIDTH = 960
const HEIGHT = 320
const MARGIN = { left: 60, bottom: 48, top: 16 }

/** All results of a run on one self-contained page: the thresholds, questions per second by path, the table. */
export function renderPage(result: BenchResult): string {
  const { passages, dimensions, threads, seconds, at, cells, thresholds, found, refusals, rebuild } = result
  const rows = cells.map((cell) => rowOf(cell, found))
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Benchmark of ${escape(at)}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1000px; margin: 2rem auto; padding: 0 1rem; color: #1f2933 }
table { border-collapse: collapse; font-size: 13px }
th, td { padding: 4px 10px; text-align: right; border-bottom: 1px solid #d9e0e6 }
th:first-child, td:first-child { text-align: left } .missed { color: #b3261e; font-weight: 600 } svg { max-width: 100% }
</style>
<h1>Questions a second, by path</h1>
<p>${passages} passages × ${dimensions} dimensions, ${threads} search threads,
${seconds} s a cell and path, ${escape(at)}.
Raw: the search alone on its threads, with words and vectors; dense: with vectors alone.
gRPC: the search node over gRPC.
Full: a request over HTTP with admission, reservation, embedding, search, record and ledger.</p>
${chart(cells)}
<h2>Thresholds</h2>
${table(['', 'wanted', 'measured', ''], thresholds.map(thresholdRow))}
<h2>Cells</h2>
${table(CELL_HEAD, rows)}
<h2>Requests that are refused</h2>
<p>The dearest request that each stage is known to refuse. Own: the gateway's time without what it awaits.</p>
${table(REFUSAL_HEAD, refusals.map(refusalRow))}
<h2>Rebuild of limit counters</h2>
<p>One process counts one organization anew and admits requests of others, whose latencies are shown.</p>
${table(REBUILD_HEAD, rebuildRows(rebuild))}
</html>
`
}

function thresholdRow(threshold: Threshold): readonly string[] {
  return [threshold.name, threshold.wanted, threshold.measured, threshold.met ? 'met' : 'missed']
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (tag: 'th' | 'td', row: readonly string[]): string =>
    row.map((text) => `<${tag}${text === 'missed' ? ' class="missed"' : ''}>${escape(text)}</${tag}>`).join('')
  return `<table><tr>${cells('th', head)}</tr>${rows.map((row) => `<tr>${cells('td', row)}</tr>`).join('')}</table>`
}

/** One group of four columns a cell. */
function chart(cells: readonly Cell[]): string {
  const highest = Math.max(1, ...cells.flatMap((cell) => PATHS.map((path) => cell.paths[path].per_second)))
  const scale = (HEIGHT - MARGIN.bottom - MARGIN.top) / highest
  const group = (WIDTH - MARGIN.left) / cells.length
  const base = HEIGHT - MARGIN.bottom
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const y = base - share * highest * scale
    return (
      `<line x1="${MARGIN.left}" x2="${WIDTH}" y1="${y}" y2="${y}" stroke="#e4e9ee"/><text ` +
      `x="${MARGIN.left - 8}" y="${y + 4}" text-anchor="end">${(share * highest).toFixed(0)}</text>`
    )
  })
  const columns = cells.flatMap((cell, at) =>
    PATHS.map((path, place) =>
      column(cell, path, MARGIN.left + at * group + group * (0.08 + place * 0.22), group * 0.2, base, scale),
    ),
  )
  const labels = cells.map(
    (cell, at) =>
      `<text x="${MARGIN.left + (at + 0.5) * group}" y="${base + 16}" ` +
      `text-anchor="middle">${escape(cell.selectivity)}</text><text ` +
      `x="${MARGIN.left + (at + 0.5) * group}" y="${base + 31}" text-anchor="middle">${cell.clients} ` +
      'client(s)</text>',
  )
  const key = PATHS.map(
    (path, at) => `<text x="${WIDTH - 200 + at * 50}" y="${MARGIN.top}" fill="${COLOURS[path]}">${path}</text>`,
  )
  return (
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" font-size="11" role="img" aria-label="Questions a second by ` +
    `path, selectivity and clients">${[...ticks, ...columns, ...labels, ...key].join('')}</svg>`
  )
}

function column(cell: Cell, path: PathName, x: number, width: number, base: number, scale: number): string {
  const { per_second } = cell.paths[path]
  const height = per_second * scale
  const title = `${path}, ${cell.selectivity}, ${cell.clients} client(s): ${per_second.toFixed(0)} q/s`
  return (
    `<rect x="${x.toFixed(1)}" y="${(base - height).toFixed(1)}" width="${width.toFixed(1)}" ` +
    `height="${height.toFixed(1)}" fill="${COLOURS[path]}"><title>${escape(title)}</title></rect>`
  )
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
