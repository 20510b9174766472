import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { fragmentsOf, pageAt } from '#test/docs/pages.ts'
import { folderOfFile } from '#test/support/folder.ts'
import { exportedRegistries, exportedSeries } from '#test/support/exported-metrics.ts'
import { makeCertificates } from '#test/support/secrets.ts'
import { RULES, alerts, promtool } from './prometheus.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const BOARDS = join(ROOT, 'deploy/grafana')
const RUNBOOK = 'docs/operate/runbook.md'

const boardSchema = z.object({
  uid: z.string(),
  panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })).default([]) })),
})
const boards = readdirSync(BOARDS).map((name) =>
  boardSchema.parse(JSON.parse(readFileSync(join(BOARDS, name), 'utf8'))),
)
const panels = boards.flatMap(({ panels: all }) => all).flatMap(({ targets }) => targets)
const expressions = [...alerts.map(({ expr }) => expr), ...panels.map(({ expr }) => expr)]

const folder = folderOfFile()
const exported = await exportedRegistries(folder, makeCertificates(folder, 'node').cert)
const series = await exportedSeries(exported.registries)
afterAll(() => exported.close())

/** Prometheus adds them. */
const ADDED = { series: new Set(['up']), labels: new Set(['instance', 'job']) }
const WORDS = new Set(['by', 'without', 'on', 'ignoring', 'unless', 'or', 'and', 'offset', 'group_left', 'group_right'])

/** What an expression selects: names of series, and of the labels in their matchers and groupings. */
function selected(expression: string) {
  const plain = expression.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""').replaceAll(/\[[^\]]*\]|\boffset \w+/g, ' ')
  const matchers = [...plain.matchAll(/([a-z_:][\w:]*)\{([^}]*)\}/gi)].flatMap(([, name = '', inner = '']) =>
    [...inner.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => [name, label] as const),
  )
  const groupings = [...plain.matchAll(/\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(',').map((label) => label.trim()),
  )
  const bare = plain.replaceAll(/\{[^}]*\}/g, ' ').replaceAll(/\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, ' ')
  const names = [...bare.matchAll(/(?<![\w.$])([a-z_][\w:]*)\b(?!\s*\()/gi)]
    .map(([, name = '']) => name)
    .filter((name) => !WORDS.has(name))
  return { names, matchers, groupings }
}

function faultsOf(expression: string): readonly string[] {
  const { names, matchers, groupings } = selected(expression)
  const labelsOf = (name: string): ReadonlySet<string> => new Set([...(series.get(name) ?? []), ...ADDED.labels])
  const any = new Set(names.flatMap((name) => [...labelsOf(name)]))
  return [
    ...(names.length === 0 ? [`no series in ${expression}`] : []),
    ...names.filter((name) => !series.has(name) && !ADDED.series.has(name)).map((name) => `no process exports ${name}`),
    ...matchers
      .filter(([name, label]) => !labelsOf(name).has(label))
      .map(([name, label]) => `${name} has no label ${label}`),
    ...groupings.filter((label) => !any.has(label)).map((label) => `no label ${label} in ${expression}`),
  ]
}

test('every series and label of rules and boards is exported by a process', () => {
  expect(expressions.length).toBeGreaterThan(80)
  expect(expressions.flatMap(faultsOf)).toEqual([])
})

test('a series, a label and a grouping that nobody exports are noticed', () => {
  expect(faultsOf('sum by (nde) (rate(evidence_node_up[5m])) > evidence_gone{node="up"}')).toEqual([
    'no process exports evidence_gone',
    'evidence_gone has no label node',
    'no label nde in sum by (nde) (rate(evidence_node_up[5m])) > evidence_gone{node="up"}',
  ])
  expect(faultsOf('evidence_node_up{knowledge_base="x"} offset 15m')).toEqual([
    'evidence_node_up has no label knowledge_base',
  ])
})

test('every metric of the service is on a board', () => {
  const metricOf = (name: string): string => name.replace(/_(?:bucket|sum|count)$/, '')
  const shown = new Set(panels.flatMap(({ expr }) => selected(expr).names).map(metricOf))
  const own = [...new Set([...series.keys()].map(metricOf))].filter((name) => name.startsWith('evidence_'))
  expect(own.length).toBeGreaterThan(50)
  expect(own.filter((name) => !shown.has(name))).toEqual([])
})

test('events that rules name are events of the code', () => {
  const named = alerts.flatMap(({ expr }) => [...expr.matchAll(/event="([^"]+)"/g)].map(([, event = '']) => event))
  expect(named).not.toEqual([])
  const code = ['core/limits/epochs.ts', 'core/limits/settlement.ts']
    .map((path) => readFileSync(join(ROOT, path), 'utf8'))
    .join('\n')
  expect(named.filter((event) => !code.includes(`'${event}'`))).toEqual([])
  for (const part of [' given up`', ' not repeated: too many repeat`']) expect(code).toContain(part)
})

test('every alert has its heading in the runbook, with what it means, where to look and what to do', () => {
  const page = pageAt(RUNBOOK)
  const fragments = fragmentsOf(page)
  expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length)
  for (const { alert, annotations } of alerts) {
    expect(annotations.runbook).toBe(`${RUNBOOK}#${alert.toLowerCase()}`)
    expect(fragments).toContain(alert.toLowerCase())
    const section = page.text.split(`\n### ${alert}\n`)[1]?.split('\n##')[0] ?? ''
    for (const part of ['Means:', 'Look:', 'Do:']) expect.soft(section, alert).toContain(part)
  }
  const headings = [...page.text.matchAll(/^### (\w+)$/gm)].map(([, name]) => name)
  expect(headings).toEqual(alerts.map(({ alert }) => alert))
})

test('promtool takes the rules', () => {
  expect(alerts.length).toBeGreaterThan(30)
  expect(promtool('check', 'rules', RULES)).toContain(`SUCCESS: ${alerts.length} rules found`)
})
