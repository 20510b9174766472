import { describe, expect, test } from 'vitest'
import type { NamedChange } from '#jobs/evaluation/compare/changes-file.ts'
import { changesSection, changesTables, changesTitle } from '#jobs/evaluation/compare/page/changes.ts'
import { evaluationReportSchema, type EvaluationReport } from '#jobs/evaluation/page/evaluation-report.ts'
import { sha256 } from '#core/platform/digest.ts'
import { NOTHING } from '#jobs/platform/page/markup.ts'
import { renderPage } from '#jobs/evaluation/page/page.ts'
import { BARE_REPORT, CHANGED_REPORT, FULL_REPORT, NAMED_CHANGES } from './evaluation-report.ts'

const VOID = new Set(['meta', '!doctype'])
const HOSTILE = `"'><script>alert(1)</script><img src=x onerror=alert(1)></style><!-- &lt;`

/** Names of the tags in order, as a browser would meet them; a closing tag begins with a slash. */
function tagsOf(page: string): readonly string[] {
  return [...page.matchAll(/<(\/?[!a-z][a-z0-9]*)(?:[^>"]|"[^"]*")*?(\/?)>/gi)].flatMap(([, name = '', closed]) =>
    closed === '/' ? [name, `/${name}`] : [name.toLowerCase()],
  )
}

/** The tags that are open where they should not be. */
function unbalanced(page: string): readonly string[] {
  const open: string[] = []
  for (const tag of tagsOf(page)) {
    if (VOID.has(tag.replace('/', ''))) continue
    if (!tag.startsWith('/')) open.push(tag)
    else if (open.pop() !== tag.slice(1)) return [...open, tag]
  }
  return open
}

/** Fields whose values are of a list of the project. */
const LISTED = new Set(
  'format kind problem group direction source worse_on questions_from decision version_id question_set fewer_than_10_passages'.split(
    ' ',
  ),
)

/** The value with hostile texts, each of which differs from the others, and hostile names of kinds of filter. */
function hostile<T>(value: T, isFilterKinds?: boolean): T
function hostile(value: unknown, isFilterKinds = false): unknown {
  if (typeof value === 'string') return `${HOSTILE} ${value}`
  if (Array.isArray(value)) return value.map((each: unknown) => hostile(each))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]: [string, unknown]) => [
      isFilterKinds ? HOSTILE + name : name,
      LISTED.has(name) ? each : hostile(each, name === 'filtered_recall_by_kind'),
    ]),
  )
}

/** Nothing could be measured, or every value is at an end of its scale. */
const edge: EvaluationReport = {
  ...FULL_REPORT,
  abstention: {
    signal: 'evidence_probability',
    auroc: null,
    auroc_ci: null,
    aurc: null,
    ece: null,
    target_risk: 0,
    coverage_at_target: 0,
    folds: 0,
    threshold: 1,
    answered_sufficient: null,
    answered_insufficient: null,
    curve: [[1, 1]],
    reliability: [{ from: 0, to: 1, questions: 0, predicted: null, observed: null }],
  },
  filtered_recall: { '100': 0 },
  filtered_recall_by_kind: {},
  latency_ms: { p50: 0, p99: 0 },
}

describe('a report', () => {
  test.each([
    ['full', FULL_REPORT],
    ['bare', BARE_REPORT],
    ['edge', edge],
    ['changed', CHANGED_REPORT],
  ])('survives being stored as JSON: %s', (_, report) => {
    expect(evaluationReportSchema.parse(JSON.parse(JSON.stringify(report)))).toEqual(report)
  })
})

/** The page as a build writes it. */
function changedPage(report: EvaluationReport, changes: readonly NamedChange[]): string {
  const sections = { first: changesSection(report, changes), tables: changesTables(report, changes.length) }
  return renderPage(report, { title: changesTitle(report, changes), ...sections, last: NOTHING })
}

/** The part of the page about recall under filters. */
function sectionOf(report: EvaluationReport): string {
  return (renderPage(report).split('>Recall under filters<')[1] ?? '').split('<h2>')[0]?.replaceAll(/\s+/g, ' ') ?? ''
}

describe('the page of a report', () => {
  test.each([
    ['full', FULL_REPORT],
    ['bare', BARE_REPORT],
    ['edge', edge],
    ['hostile', hostile(FULL_REPORT)],
    ['changed', CHANGED_REPORT],
  ])('is well-formed, loads and runs nothing, and holds no number that is none: %s', (_, report) => {
    const page = changedPage(report, hostile(NAMED_CHANGES))
    expect(unbalanced(page)).toEqual([])
    expect(page).toMatch(
      /content="default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;; script-src &#39;sha256-/,
    )
    const loading = ['img', 'link', 'iframe', 'object', 'form', 'use', 'image']
    expect(tagsOf(page).filter((tag) => loading.includes(tag))).toEqual([])
    expect([...page.matchAll(/<a href="([^"]*)"/g)].filter(([, target = '']) => !target.startsWith('#'))).toEqual([])
    const shown = page.replaceAll(HOSTILE, '').replace(/<script type="module">[\s\S]*?<\/script>/, '')
    expect(shown).not.toMatch(/<script|https?:|url\(|@import|NaN|undefined|Infinity|\[object/)
  })

  test('escapes every text, so that a hostile report has the very tags of a harmless one', () => {
    const report = { ...FULL_REPORT, ranking: { ...FULL_REPORT.ranking, reranker: 'm' } }
    const page = renderPage(hostile(report))
    expect(tagsOf(page)).toEqual(tagsOf(renderPage(report)))
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(page).not.toContain('<script')
  })

  test('escapes every text of a change', () => {
    const page = changedPage(CHANGED_REPORT, hostile(NAMED_CHANGES))
    expect(tagsOf(page).filter((tag) => tag !== 'del' && tag !== '/del' && tag !== 'ins' && tag !== '/ins')).toEqual(
      tagsOf(changedPage(CHANGED_REPORT, NAMED_CHANGES)).filter((tag) => !/^\/?(?:del|ins)$/.test(tag)),
    )
    // One script, and the policy allows no other.
    expect(page.match(/<script/g)).toHaveLength(1)
    const script = /<script type="module">([\s\S]*?)<\/script>/.exec(page)?.[1] ?? ''
    expect(page).toContain(`script-src &#39;sha256-${sha256(script).toString('base64')}&#39;`)
  })

  test('names what changes before everything that was measured: both texts word by word, a warning, then counts and limits', () => {
    const page = changedPage(CHANGED_REPORT, NAMED_CHANGES)
    const offsets = ['<h1>', 'Rule 7.4.1', '>For the engineer<', '<b>13732 → 13732 passages', '>Gates<'].map((mark) =>
      page.indexOf(mark),
    )
    expect(offsets).not.toContain(-1)
    expect(offsets).toEqual(offsets.toSorted((a, b) => a - b))
    expect(page).toContain('The member <del>must</del><ins>need not</ins> give notice')
    expect(page).toMatch(/<del><bdi>conduct<\/bdi><\/del> →\s+<ins><bdi>none<\/bdi><\/ins>/)
    expect(page).toContain(`operator review report ${CHANGED_REPORT.version_id} --part changes`)
    expect(page.match(/! to accept/g)).toHaveLength(2)
  })

  test('is the same to the byte for the same report', () => {
    expect(renderPage(evaluationReportSchema.parse(JSON.parse(JSON.stringify(FULL_REPORT))))).toBe(
      renderPage(FULL_REPORT),
    )
  })

  test('says the verdict first, then the gates, then what was measured', () => {
    const page = renderPage(FULL_REPORT)
    const marks = [
      'class="verdict',
      '>Gates<',
      '>Ranking<',
      '>The decision<',
      '>Recall under filters<',
      '>Worst misses<',
    ]
    const offsets = marks.map((mark) => page.indexOf(mark))
    expect(offsets).not.toContain(-1)
    expect(offsets).toEqual(offsets.toSorted((a, b) => a - b))
  })

  test('shows missed gates above those that were met', () => {
    const gates = [
      ...FULL_REPORT.gates,
      { group: 'speed', label: 'late gate', value: 52.25, direction: 'at_most', bound: 40, passed: false } as const,
    ]
    const page = renderPage({ ...FULL_REPORT, gates, passed: false })
    expect(page.indexOf('late gate</th>')).toBeLessThan(page.indexOf('recall@5, hybrid</th>'))
    expect(page).toContain('✗ missed')
    expect(page).toContain('≤ 40')
    expect(page).toContain('52.3')
  })

  test('shows each figure with its interval, and what another threshold would give', () => {
    const page = renderPage(FULL_REPORT).replaceAll(/\s+/g, ' ')
    const { hybrid } = FULL_REPORT.systems
    expect(page).toContain(hybrid?.['ndcg@10'].toFixed(3) ?? 'missing')
    expect(page).toContain(hybrid?.ci['ndcg@10'].map((end) => end.toFixed(3)).join(' – ') ?? 'missing')
    const [, risk = 0] = FULL_REPORT.abstention?.curve.at(-1) ?? []
    expect(page).toContain(`<th>100 %</th> <td class="n">${(risk * 100).toFixed(1)} %</td>`)
    const counts = FULL_REPORT.abstention?.reliability.map(({ questions }) => questions) ?? []
    for (const count of counts.filter((each) => each > 0)) expect(page).toContain(`<td class="n">${count}</td> </tr>`)
  })

  test('says under the ranking how words and vectors are fused', () => {
    const page = renderPage(FULL_REPORT).replaceAll(/\s+/g, ' ')
    expect(page).toContain('Vectors weigh 0.400 in the hybrid ranking, words 0.600.')
  })

  test('counts under the ranking the passages that the model does not read at once, and says what became of them', () => {
    const pageWith = (windows: boolean): string =>
      renderPage({ ...FULL_REPORT, long_passages: { passages: 1_643, windows } }).replaceAll(/\s+/g, ' ')
    expect(pageWith(true)).toMatch(/1\D?643 passages are longer .* each was embedded in windows, to its end\./)
    expect(pageWith(false)).toMatch(/1\D?643 passages are longer .* a search by vector does not see their end\./)
    const none = renderPage({ ...FULL_REPORT, long_passages: { passages: 0, windows: true } })
    expect(none).toBe(renderPage(FULL_REPORT))
  })

  test('says under the decision what it was calibrated on, and that field questions were not asked', () => {
    const decisionOf = (report: EvaluationReport): string =>
      (renderPage(report).split('>The decision<')[1] ?? '').split('<h2>')[0]?.replaceAll(/\s+/g, ' ') ?? ''
    expect(decisionOf(FULL_REPORT)).toContain('Calibrated on the question set: threshold and figures come from 600')
    expect(decisionOf(FULL_REPORT)).not.toContain('Field questions')
    const bare = decisionOf(BARE_REPORT)
    expect(bare).toContain('The default decision applies. Field questions were not asked.')
    expect(bare).not.toContain('too small')
    expect(decisionOf({ ...BARE_REPORT, chance_questions: 0 })).toContain('that of ten passages applies.')
    const labelled = decisionOf({ ...BARE_REPORT, kind: 'question set' })
    expect(labelled).toContain('The question set has too few labels of both kinds')
    const refused = { drawn: 40, answered: 9, masked: true } as const
    const masked = decisionOf({ ...BARE_REPORT, calibrated_on: { source: 'default', refused } })
    expect(masked).toContain('answered 9 of 40 answerable questions once the passages that answer them were left out.')
    const none = { questions: 0, answerable: 0, answered_answerable: 0, answered_unanswerable: 0, auroc: null }
    const rewriter = { ...none, model: 'm', is_fitted: false }
    expect(decisionOf({ ...FULL_REPORT, rewriter })).toContain(
      'default, which was measured by words alone; no labelled',
    )
  })

  test('says under recall under filters what was asked, and which rows refer to fewer than ten passages', () => {
    const section = sectionOf(FULL_REPORT)
    expect(section).toContain('Asked: 150 questions and the vectors of 50 passages.')
    expect(section.match(/fewer than 10 passages/g)).toHaveLength(1)
    expect(section).toMatch(/<th>0\.01 %<small>fewer than 10 passages<\/small><\/th>/)
  })

  test('shows no words of a question that is not the operator’s own', () => {
    const misses = FULL_REPORT.misses.map((miss) => ({ ...miss, text: null }))
    const [first] = FULL_REPORT.misses
    expect(renderPage(FULL_REPORT)).toContain(first?.text ?? 'missing')
    expect(renderPage({ ...FULL_REPORT, misses })).not.toContain(first?.text ?? 'missing')
  })
})
