import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { installDebianPackage } from '#operator/demo/local/debian-package.ts'

export const RULES = fileURLToPath(new URL('../../deploy/prometheus/rules.yml', import.meta.url))
const ruleSchema = z.object({
  alert: z.string().regex(/^Evidence[A-Za-z]+$/),
  expr: z.string(),
  for: z.string().default('0s'),
  labels: z.object({ severity: z.enum(['page', 'ticket', 'info']) }),
  annotations: z.object({ summary: z.string(), runbook: z.string() }),
})
const rulesSchema = z.object({ groups: z.array(z.object({ rules: z.array(ruleSchema) })) })
export const alerts = rulesSchema.parse(parse(readFileSync(RULES, 'utf8'))).groups.flatMap(({ rules }) => rules)

/** Runs promtool of Debian's package prometheus, and installs that where it is missing. @returns what it says. */
export function promtool(...args: readonly string[]): string {
  const run = () => spawnSync('promtool', args, { encoding: 'utf8' })
  let ran = run()
  if (ran.error !== undefined && installDebianPackage('prometheus')) ran = run()
  if (ran.error !== undefined) throw new Error('This test needs promtool: install Prometheus and put it on the PATH.')
  return ran.stdout + ran.stderr
}

export type Scrape = Awaited<ReturnType<typeof scrape>>

/** Reads the targets as Prometheus does: one that does not answer has `up` 0 and nothing else. */
export async function scrape(targets: Readonly<Record<string, () => Promise<string>>>) {
  const values = new Map<string, number>()
  const read = Object.entries(targets).map(async ([instance, target]) => {
    const text = await target().catch(() => undefined)
    const added = `instance="${instance}",job="evidence"}`
    values.set(`up{${added}`, Number(text !== undefined))
    for (const [, name, labels, value] of (text ?? '').matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm))
      values.set(`${name}{${labels === undefined ? '' : `${labels},`}${added}`, Number(value))
    return text ?? ''
  })
  const text = (await Promise.all(read)).join('')
  const counters = [...text.matchAll(/^# TYPE (\w+) (?:counter|histogram)$/gm)].map(([, name = '']) => name)
  return { values, text, counters: new Set(counters) }
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }
const secondsOf = (duration: string): number => Number.parseInt(duration, 10) * (SECONDS[duration.slice(-1)] ?? 0)
const longest = (expr: string, pattern: RegExp): number =>
  Math.max(0, ...[...expr.matchAll(pattern)].map(([, duration = '']) => secondsOf(duration)))
/** Of the example configuration, in seconds. */
const SCRAPE_EVERY = 15

/**
 * Has promtool try a rule on scrapes from before, during and after a fault, each of which lasts as long as the rule
 * looks back and waits. A gauge stays; a counter grows each time by what it grew since the scrape before. The first
 * scrape is only compared with. @returns what promtool says.
 */
export function tried(folder: string, alert: string, scrapes: readonly Scrape[], fires: readonly object[]): string {
  const rule = alerts.find((one) => one.alert === alert)
  if (rule === undefined) throw new Error(`there is no alert ${alert}`)
  const { expr, for: waits, labels } = rule
  const [window, offset] = [longest(expr, /\[(\w+)\]/g), longest(expr, /offset (\w+)/g)]
  const before = offset + window + 120
  // What shows a step needs a sample of before in its window.
  const fired = before + secondsOf(waits) + Math.max(120, window - 60)
  const cleared = fired + window + 180
  const steps = [before, fired + 60 - before, cleared - fired].map((seconds) => seconds / SCRAPE_EVERY)
  const named = new Set(expr.match(/\b(?:evidence_\w+|up)\b/g))
  const keys = [...new Set(scrapes.flatMap(({ values }) => [...values.keys()]))]
  const series = keys.filter((key) => named.has(key.split('{')[0] ?? ''))
  const expected = (at: number, list: readonly object[]) => {
    return {
      eval_time: `${at}s`,
      alertname: alert,
      exp_alerts: list.map((one) => ({ exp_labels: { ...labels, ...one } })),
    }
  }
  const input_series = series.map((key) => ({ series: key, values: samplesOf(key, scrapes, steps) }))
  const alert_rule_test = [expected(before - 60, []), expected(fired, fires), expected(cleared, [])]
  const tests = [{ interval: `${SCRAPE_EVERY}s`, input_series, alert_rule_test }]
  const file = (name: string): string => join(folder, `${alert}.${name}.json`)
  const rules = [{ alert, expr, for: waits, labels }]
  writeFileSync(file('rules'), JSON.stringify({ groups: [{ name: alert, rules }] }))
  writeFileSync(file('test'), JSON.stringify({ rule_files: [file('rules')], evaluation_interval: '1m', tests }))
  return promtool('test', 'rules', file('test'))
}

/** In promtool's notation. */
function samplesOf(key: string, scrapes: readonly Scrape[], steps: readonly number[]): string {
  const name = (key.split('{')[0] ?? '').replace(/_bucket$/, '')
  let last: number | undefined
  const spans = steps.map((count, at) => {
    const value = scrapes[at + 1]?.values.get(key)
    const isCounter = scrapes[at + 1]?.counters.has(name) === true
    const grown = isCounter ? (value ?? 0) - (scrapes[at]?.values.get(key) ?? 0) : 0
    const first = value === undefined || !isCounter ? value : (last ?? value - grown) + grown
    const gone = last === undefined ? '_' : 'stale'
    last = first === undefined ? undefined : first + grown * (count - 1)
    return first === undefined ? `${gone} _x${count - 1}` : `${first}+${grown}x${count - 1}`
  })
  return spans.join(' ')
}
