import { rankingFigures, systemFigures, compareRankings } from '#jobs/evaluation/metrics/ranking.ts'
import type { RankingFigures } from '#jobs/evaluation/metrics/ranking.ts'
import { coverageAtRisk, decisionFigures } from '#jobs/evaluation/metrics/abstention.ts'
import type { EvaluationReport, Gate, Miss } from '#jobs/evaluation/page/evaluation-report.ts'
import { CHANGE_KINDS, NO_CHANGES } from '#core/domain/changes.ts'
import type { NamedChange } from '#jobs/evaluation/compare/changes-file.ts'

/** In [0, 1), the same numbers every time. */
function numbersFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 4_294_967_296
  }
}

/** 300 questions with one relevant record each, found the earlier the better the system is. */
function figuresOf(quality: number): ReadonlyMap<string, RankingFigures> {
  const next = numbersFrom(11)
  return new Map(
    Array.from({ length: 300 }, (_, question) => {
      const rank = Math.floor(next() ** (1 / (1 - quality)) * 40)
      const ranked = Array.from({ length: 100 }, (__, at) => (at === rank ? 'relevant' : `r${at}`))
      const figures = rankingFigures(ranked, new Map([['relevant', 1]]))
      if (figures === undefined) throw new Error('nothing relevant')
      return [`q${question}`, figures] as const
    }),
  )
}

const next = numbersFrom(5)

const scored = Array.from({ length: 600 }, () => {
  const score = 1 / (1 + Math.exp(4.5 - 8 * next() - 2 * next()))
  return { score, sufficient: next() < score }
})
const threshold = coverageAtRisk(scored, 0.05)?.threshold ?? 1

const recall = {
  random: { '100': 0.997, '50': 0.996, '10': 0.993, '1': 1, '0.1': 1, '0.01': 1 },
  correlated: { '100': 0.997, '50': 0.992, '10': 0.971, '1': 1, '0.1': 1, '0.01': 1 },
}

const gates: readonly Gate[] = [
  { group: 'ranking', label: 'recall@5, hybrid', value: 0.934, direction: 'at_least', bound: 0.9, passed: true },
  {
    group: 'decision',
    label: 'answers without evidence',
    value: 0.048,
    direction: 'at_most',
    bound: 0.05,
    passed: true,
  },
  ...Object.entries(recall.correlated).map(([selectivity, value]): Gate => ({
    group: 'filtered recall',
    label: `recall@10 at ${selectivity} % of the passages, correlated`,
    value,
    direction: 'at_least',
    bound: 0.95,
    passed: true,
  })),
]

const misses: readonly Miss[] = [
  {
    problem: 'not_found',
    id: 'q-17',
    text: 'Must a notice of the breach be sent to each member of the scheme, and within which time?',
    observed_value: 0.912,
    relevant: ['rulebook/7.4.2', 'rulebook/7.4.3'],
    passages: [
      { label: 'Rule 7.4.1', score: 0.71, relevant: false },
      { label: 'Rule 7.5.2(a)', score: 0.652, relevant: false },
      { label: 'Rule 3.1.9', score: 0.431, relevant: true },
    ],
  },
  {
    problem: 'answered_without_evidence',
    id: 'q-203',
    text: 'Which colour must a lifeboat have?',
    observed_value: 0.874,
    relevant: [],
    passages: [{ label: 'Rule 12.1', score: 0.55, relevant: false }],
  },
  {
    problem: 'abstained_with_evidence',
    id: 'q-88',
    text: null,
    observed_value: 0.214,
    relevant: ['a', 'b', 'c', 'd', 'e', 'f', 'g'],
    passages: [],
  },
]

const [lexical, dense, hybrid] = [figuresOf(0.6), figuresOf(0.35), figuresOf(0.64)]
const compared = compareRankings(hybrid, lexical)

/** A candidate with everything that a report can hold, which passes. */
export const FULL_REPORT: EvaluationReport = {
  format: 1,
  kind: 'question set',
  dataset: 'House rulebook',
  version_id: '0198c0de-0000-7000-8000-000000000001',
  question_set: 'ab'.repeat(32),
  passages: 13_732,
  queries: 600,
  answerable: 300,
  unanswerable: 300,
  systems: {
    lexical: systemFigures([...lexical.values()]),
    dense: systemFigures([...dense.values()]),
    hybrid: systemFigures([...hybrid.values()]),
  },
  abstention: decisionFigures(scored, { signal: 'evidence_probability', threshold, target_risk: 0.05, folds: 5 }),
  ranking: { dense_weight: 0.4, reranker: null },
  calibrated_on: { source: 'question set', questions: 600 },
  filtered_recall: recall.correlated,
  filtered_recall_by_kind: recall,
  filtered_recall_sample: { questions: 150, sampled_rows: 50, fewer_than_10_passages: ['0.01'] },
  latency_ms: { p50: 6.412, p99: 14.37 },
  latency_ms_by_system: {
    lexical: { p50: 1.9, p99: 4.2 },
    dense: { p50: 4.1, p99: 11.3 },
    hybrid: { p50: 6.412, p99: 14.37 },
  },
  gates,
  passed: true,
  comparison: compared === undefined ? null : { version_id: '0198c0de-0000-7000-8000-000000000000', ...compared },
  misses,
  misses_total: 41,
  unknown_relevant: ['rulebook/99.1', 'rulebook/99.2'],
  unknown_relevant_total: 2,
  search_questions: {
    questions: 2_400,
    passages: 1_000,
    sample: [{ id: 'rulebook/1.1', lang: 'en', q: 'May I keep bees?' }],
    repeated: [{ q: 'Who pays?', passages: 12 }],
    repeated_total: 30,
    asked: 1_000,
    elsewhere: [{ id: 'rulebook/1.1', q: 'How many hives?', first: 'rulebook/1.2' }],
    elsewhere_total: 9,
  },
}

const held = { documents: 12, provisions: 13_000, passages: 13_732 }
const counts = { ...NO_CHANGES, provisions_changed: 1, passages_changed: 1 }

/** A candidate that passes, with one passage that has another text than in the active version. */
export const CHANGED_REPORT: EvaluationReport = {
  ...FULL_REPORT,
  gates: [
    ...gates,
    ...CHANGE_KINDS.map((kind): Gate => {
      const value = counts[kind]
      return { group: 'changes', label: kind, value, direction: 'at_most', bound: 0, passed: value === 0 }
    }),
  ],
  comparison:
    FULL_REPORT.comparison === null
      ? null
      : {
          ...FULL_REPORT.comparison,
          questions_from: 'question set',
          changes: {
            before: held,
            after: held,
            added: { documents: 0, provisions: 0, passages: 0 },
            counts,
            sha256: 'cd'.repeat(32),
          },
        },
}

const RULE = {
  document: { id: 'd', title: 'House rulebook', canonical_url: 'https://rules.example/house' },
  language: 'en',
  provision: 'p',
}

const HELD = { document: 'd', language: 'en', provision: 'p' }

/** A change of every kind that the page shows. */
export const NAMED_CHANGES: readonly NamedChange[] = [
  {
    kind: 'passages_changed',
    ...RULE,
    day: '2024-02-01',
    label: 'Rule 7.4.1',
    before: { text: 'The member must give notice of a breach within two days.', subjects: ['conduct'] },
    after: { text: 'The member need not give notice of a breach within two days.', subjects: [] },
  },
  {
    kind: 'passages_repeated',
    ...RULE,
    day: '2024-02-01',
    label: 'Rule 7.4.1',
    repeats: { provision: 'q', day: '2024-02-01', label: 'Rule 7.4.1' },
    before: { text: 'The member must give notice of a breach within two days.' },
    after: { text: 'The member may give notice of a breach within two days.' },
  },
  { kind: 'facet_values_removed', facet: 'languages', value: 'de' },
  { kind: 'documents_removed', document: RULE.document },
  {
    kind: 'documents_changed',
    document: RULE.document,
    revisions: [
      { language: 'en', day: '2024-02-01', before: header('Rulebook'), after: header('House rulebook') },
      { language: 'en', day: '2025-02-01', before: header('Rulebook'), after: null },
    ],
    revisions_total: 3,
  },
  { kind: 'passages_removed', ...RULE, day: '2024-02-01', label: 'Rule 9', before: { text: 'Members may appeal.' } },
  { kind: 'provisions_removed', ...RULE, label: 'Rule 9' },
  { kind: 'passages_added', ...RULE, day: '2025-02-01', label: 'Rule 10', after: { text: 'Members may vote.' } },
  { kind: 'documents_added', document: RULE.document },
  { kind: 'references_changed', reference: 'rulebook:house#7.4', lost: [], gained: [{ ...HELD, label: 'Rule 7.4' }] },
  { kind: 'aliases_changed', name: 'HOUSE', before: 'rulebook:house', after: 'rulebook:other' },
  { kind: 'vectors_changed', file: 'vectors.f32' },
  { kind: 'profile_changed', field: 'in_force_only', before: 'true', after: 'false' },
  { kind: 'questions_changed', question: null, before: null, after: null },
  { kind: 'search_questions_changed', passage: 'house#rule-9', language: 'en', before: 'May I appeal?', after: null },
  {
    kind: 'answers_lost',
    question: 'q-7',
    from: 'question set of the active version',
    text: 'When is notice of a breach due?',
    relevant: ['house#rule-7-4-1'],
    before: { decision: 'answer', first: 'house#rule-7-4-1', rank: 1, unsupported: [] },
    after: { decision: 'abstain', first: null, rank: null, unsupported: ['rulebook:house#7.4.1'] },
  },
  { kind: 'snapshots_changed', document: RULE.document, label: 'Rule 1', passages: 3, before: 's-1', after: 's-2' },
]

function header(
  title: string,
): Record<'title' | 'authority' | 'canonical_url' | 'published_at' | 'effective_at', string> {
  const instant = '2024-02-01T00:00:00.000Z'
  const authority = 'Test Authority'
  return { title, authority, canonical_url: RULE.document.canonical_url, published_at: instant, effective_at: instant }
}

/** The least that a report can hold: a version without questions that cannot be answered, filters or predecessor. */
export const BARE_REPORT: EvaluationReport = {
  ...FULL_REPORT,
  kind: 'known items',
  question_set: null,
  version_id: null,
  unanswerable: 0,
  systems: { hybrid: systemFigures([...hybrid.values()]) },
  abstention: null,
  calibrated_on: { source: 'default' },
  ranking: { dense_weight: 0.007, reranker: null },
  filtered_recall: {},
  filtered_recall_by_kind: {},
  latency_ms_by_system: {},
  gates: [],
  comparison: null,
  misses: [],
  misses_total: 0,
  unknown_relevant: [],
  unknown_relevant_total: 0,
}
