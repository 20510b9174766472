import type { AskedQuestion, Evaluation } from './measure.ts'
import { RECALL_MIN } from './measure.ts'
import { UNANSWERABLE_ANSWERED_MAX } from './threshold.ts'

const BINS = 25
const BIN_WIDTH = 22
const CHART_HEIGHT = 160
const LISTED_MAX = 50
const KNOWN_ITEMS =
  '<p>Built without a question set: passages were looked up by their own words. This tells whether the version finds what it holds, not whether it answers what people ask, nor whether it abstains where it should.</p>'

/** A page for the reviewer, complete in itself: no script, nothing loaded, ids and numbers only. */
export function renderReport(versionId: string, evaluation: Evaluation, asked: readonly AskedQuestion[]): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Evaluation of version ${escaped(versionId)}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a; background: #fff }
table { border-collapse: collapse } td, th { padding: .2rem 1rem .2rem 0; text-align: left; vertical-align: top } th { white-space: nowrap }
td { font-variant-numeric: tabular-nums; overflow-wrap: anywhere }
.passed { color: #116329 } .failed { color: #a40e26 } svg { width: 100%; height: auto } code { overflow-wrap: anywhere }
</style></head><body>
<h1>Evaluation</h1>
<p>Version <code>${escaped(versionId)}</code></p>
<p class="${evaluation.passed ? 'passed' : 'failed'}"><strong>${evaluation.passed ? 'Passed' : 'Not passed'}</strong>: recall@5 must be at least ${percent(RECALL_MIN)}, and at most ${percent(UNANSWERABLE_ANSWERED_MAX)} of the unanswerable questions may be answered.</p>
<table>${factsOf(evaluation)
    .map(([name, value]) => `<tr><th>${escaped(name)}</th><td>${escaped(value)}</td></tr>`)
    .join('')}</table>
${evaluation.kind === 'known items' ? KNOWN_ITEMS : ''}
<h2>Scores of the best passage</h2>
${chart(evaluation, asked)}
${lists(evaluation)}
</body></html>
`
}

function factsOf(evaluation: Evaluation): readonly (readonly [string, string])[] {
  const unanswerable = evaluation.answered_unanswerable_share
  return [
    [
      'Questions',
      evaluation.kind === 'known items' ? 'known items: heading and opening words of each sampled passage' : `question set ${evaluation.question_set ?? ''}`,
    ],
    ['Asked', `${evaluation.questions}: ${evaluation.answerable} answerable, ${evaluation.unanswerable} unanswerable`],
    ['Recall@5', percent(evaluation.recall_at_5)],
    ['Threshold', `${evaluation.threshold.toFixed(4)} (${evaluation.threshold_fitted ? 'fitted on this set' : 'default: nothing unanswerable to fit on'})`],
    ['Answerable questions answered', percent(evaluation.coverage)],
    ['Unanswerable questions answered', unanswerable === null ? 'none asked' : percent(unanswerable)],
    ['Integrity', 'signature, sizes and hashes hold'],
  ]
}

/** Two histograms over [0, 1], one above the axis and one below, and the threshold as a line. */
function chart(evaluation: Evaluation, asked: readonly AskedQuestion[]): string {
  const above = histogram(asked.filter((question) => question.relevant > 0))
  const below = histogram(asked.filter((question) => question.relevant === 0))
  const tallest = Math.max(1, ...above, ...below)
  const scale = CHART_HEIGHT / tallest
  const bars = (counts: readonly number[], up: boolean, fill: string): string =>
    counts
      .map((count, bin) => {
        const height = count * scale
        const y = up ? CHART_HEIGHT - height : CHART_HEIGHT
        return count === 0
          ? ''
          : `<rect x="${bin * BIN_WIDTH + 1}" y="${y.toFixed(1)}" width="${BIN_WIDTH - 2}" height="${height.toFixed(1)}" fill="${fill}"><title>${count} at ${(bin / BINS).toFixed(2)}</title></rect>`
      })
      .join('')
  const width = BINS * BIN_WIDTH
  const at = (evaluation.threshold * width).toFixed(1)
  const bottom = evaluation.unanswerable === 0 ? CHART_HEIGHT : CHART_HEIGHT * 2
  const anchor = evaluation.threshold < 0.1 ? 'start' : evaluation.threshold > 0.9 ? 'end' : 'middle'
  return `<svg viewBox="0 0 ${width} ${bottom + 38}" role="img" aria-label="Distribution of top scores">
${bars(above, true, '#2b6cb0')}${bars(below, false, '#b7791f')}
<line x1="0" x2="${width}" y1="${CHART_HEIGHT}" y2="${CHART_HEIGHT}" stroke="#1a1a1a"/>
<line x1="${at}" x2="${at}" y1="0" y2="${bottom}" stroke="#a40e26" stroke-dasharray="4 3"/>
<g font-size="12"><text x="0" y="${bottom + 16}">0</text><text x="${width}" y="${bottom + 16}" text-anchor="end">1</text><text x="${at}" y="${bottom + 32}" text-anchor="${anchor}" fill="#a40e26">threshold ${evaluation.threshold.toFixed(2)}</text></g>
</svg>
<p>How many questions had a best passage of that score. Blue, above: answerable. Ochre, below: unanswerable. The tallest bar stands for ${tallest}.</p>`
}

function histogram(questions: readonly AskedQuestion[]): readonly number[] {
  const counts = new Array<number>(BINS).fill(0)
  for (const { topScore } of questions) {
    const bin = Math.min(BINS - 1, Math.max(0, Math.floor(topScore * BINS)))
    counts[bin] = (counts[bin] ?? 0) + 1
  }
  return counts
}

function lists(evaluation: Evaluation): string {
  const named: readonly (readonly [string, readonly string[]])[] = [
    ['Questions with a relevant passage missing from the first five', evaluation.misses],
    ['Unanswerable questions that were answered', evaluation.wrongly_answered],
    ['Answerable questions that were not answered', evaluation.wrongly_abstained],
    ['Relevant passages that the version does not hold', evaluation.unknown_relevant],
  ]
  return named
    .filter(([, ids]) => ids.length > 0)
    .map(([name, ids]) => {
      const shown = ids.slice(0, LISTED_MAX).map((id) => `<code>${escaped(id)}</code>`)
      const more = ids.length > LISTED_MAX ? [`and ${ids.length - LISTED_MAX} more`] : []
      return `<h2>${escaped(name)}</h2><p>${[...shown, ...more].join(', ')}</p>`
    })
    .join('\n')
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '')
}
