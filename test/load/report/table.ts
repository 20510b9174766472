import type { LoadReport, ScenarioResult } from './load-report.ts'
import { violationsOf } from './load-report.ts'

/** What a scenario showed, for a terminal. */
export function renderScenario({ name, title, seconds, phases, checks, figures }: ScenarioResult): string {
  const lines = [`${name} (${seconds.toFixed(1)} s): ${title}`]
  for (const { phase, seconds: lasts, requests, offered_per_second, goodput_per_second, outcomes } of phases) {
    const rates = `, ${offered_per_second.toFixed(0)} offered and ${goodput_per_second.toFixed(0)} answered a second`
    lines.push(`  ${phase}: ${requests} requests${lasts > 0 ? rates : ' at once'}`)
    for (const { outcome, requests: of, latency_ms: latency } of outcomes) {
      const [p50 = 0, , , p99 = 0, most = 0] = latency
      lines.push(`    ${of} × ${outcome}: p50 ${ms(p50)}, p99 ${ms(p99)}, most ${ms(most)}`)
    }
  }
  for (const [figure, value] of Object.entries(figures)) lines.push(`  ${figure}: ${value.toFixed(2)}`)
  const checked = checks.filter((check) => check.checked > 0)
  lines.push(`  checks: ${checked.map((check) => `${check.name} ${check.checked}`).join(', ')}`)
  for (const { name: check, violations, examples } of checks)
    for (const { tenant, message } of examples)
      lines.push(`  VIOLATED ${check} (${violations}×), ${tenant}: ${message}`)
  return lines.join('\n')
}

function ms(value: number): string {
  return `${value.toFixed(value < 10 ? 1 : 0)} ms`
}

/** The checks of the whole run: what was checked how often, and what is violated. */
export function renderChecks(report: LoadReport): string {
  const names = [...new Set(report.scenarios.flatMap(({ checks }) => checks.map(({ name }) => name)))]
  const rows = names.map((name) => {
    const results = report.scenarios.flatMap(({ checks }) => checks.filter((check) => check.name === name))
    const sum = (of: 'checked' | 'violations'): number => results.reduce((all, result) => all + result[of], 0)
    const [first] = results
    const verdict =
      sum('violations') > 0 ? `VIOLATED ${sum('violations')}×` : sum('checked') > 0 ? 'holds' : 'not checked'
    return { name, verdict, checked: sum('checked'), guarantee: first?.guarantee ?? '' }
  })
  const width = Math.max(0, ...rows.map(({ name }) => name.length))
  const lines = rows.map(
    ({ name, verdict, checked, guarantee }) =>
      `${name.padEnd(width)}  ${verdict.padEnd(12)} ${String(checked).padStart(7)} checked  ${guarantee}`,
  )
  const violations = violationsOf(report)
  return [
    ...lines,
    ...report.left_out,
    '',
    `Seed ${report.seed}, ${report.gateways} gateway(s), ${report.took_seconds.toFixed(0)} s` +
      (report.interrupted ? ', interrupted.' : '.'),
    violations === 0 ? 'Every check that could be made holds.' : `${violations} violation(s).`,
  ].join('\n')
}
