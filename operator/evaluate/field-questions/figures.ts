import { servedOf, type RankingMode } from '#jobs/evaluation/ask.ts'
import { RANKING_MODES, type EvaluationReport } from '#jobs/evaluation/page/evaluation-report.ts'
import { wilsonInterval } from '#jobs/evaluation/metrics/resampling.ts'
import { auroc } from '#jobs/evaluation/metrics/abstention.ts'
import type { Section } from '#operator/command-line/sections.ts'
import { refusedInWords } from '#jobs/evaluation/page/verdict.ts'
import type { AskedCorpora } from './evaluation.ts'
import type { FieldQuestionOutcome } from './judge.ts'
import { HALVES, type Half } from './questions.ts'

/** Kinds whose answerable questions the AUROC sets against all unanswerable ones. */
const AUROC_KINDS: readonly string[] = ['named', 'plain']

/** Output of `--json`: counts of all questions, and of each half that was asked. Names and meanings are stable. */
type FieldQuestionCounts = ReturnType<typeof countsOf>

type Counts = ReturnType<typeof countsIn>

export function countsOf({ corpora, outcomes, fitted }: AskedCorpora) {
  const halves = HALVES.flatMap((half) => {
    const asked = outcomes.filter(({ question }) => question.half === half)
    return asked.length === 0 ? [] : [[half, countsIn(asked)] as const]
  })
  const counts = { ...countsIn(outcomes), halves: Object.fromEntries(halves), corpora }
  if (fitted === undefined) return counts
  const named = outcomes.map(({ corpus, question: { half, id } }) => ({ half, id: `${corpus} ${id}` }))
  const idsOf = (half: Half): string[] => named.filter((each) => each.half === half).map(({ id }) => id)
  return { ...counts, fitted, ids: Object.fromEntries(HALVES.map((half) => [half, idsOf(half)])) }
}

function countsIn(outcomes: readonly FieldQuestionOutcome[]) {
  const kinds = Map.groupBy(outcomes, ({ question }) => question.kind)
  const byKind = <T>(measure: (asked: readonly FieldQuestionOutcome[]) => T): Record<string, T> =>
    Object.fromEntries([...kinds].map(([kind, asked]) => [kind, measure(asked)]))
  const listedAt5 = (mode: RankingMode): Record<string, number> =>
    byKind((asked) => asked.filter(({ rank }) => typeof rank[mode] === 'number').length)
  const modes = RANKING_MODES.filter((mode) => outcomes.some(({ rank }) => rank[mode] !== undefined))
  return {
    /**
     * AUROC of the observed value, as it is served, of answerable questions of the kinds `named` and `plain` against all
     * unanswerable ones. An unsupported reference forces an abstention and does not change the value. Null without both.
     */
    auroc: aurocOf(outcomes),
    kinds: byKind(kindCountsOf),
    /** `listed_at5` by kind of the words alone and, with vectors, of the vectors alone and the served list. */
    systems: Object.fromEntries(modes.map((mode) => [mode, listedAt5(mode)])),
  }
}

function kindCountsOf(asked: readonly FieldQuestionOutcome[]) {
  const answered = asked.filter(({ decision }) => decision === 'answer')
  const first = ({ rank }: FieldQuestionOutcome): boolean => servedOf(rank) === 1
  const at5 = ({ rank }: FieldQuestionOutcome): boolean => servedOf(rank) !== null
  const [listedAt5, answeredAt5] = [asked.filter(at5).length, answered.filter(at5).length]
  return {
    n: asked.length,
    answered: answered.length,
    /** The first passage of the list is right, whatever the decision. */
    listed_first: asked.filter(first).length,
    listed_at5: listedAt5,
    /** Counts only the questions that the service answers. */
    answered_first: answered.filter(first).length,
    answered_at5: answeredAt5,
    /** 95 % intervals of shares; null of nothing. */
    intervals: {
      answered: wilsonInterval(answered.length, asked.length) ?? null,
      /** A right passage is among the first five, whatever the decision. */
      listed_at5: wilsonInterval(listedAt5, asked.length) ?? null,
      /** Of those with a right passage among the first five. */
      answered_at5: wilsonInterval(answeredAt5, listedAt5) ?? null,
    },
  }
}

function aurocOf(outcomes: readonly FieldQuestionOutcome[]): number | null {
  const scored = outcomes.flatMap(({ question: { kind, label }, observedValue: score }) => {
    if (label === 'unanswerable') return [{ score, sufficient: false }]
    return AUROC_KINDS.includes(kind) ? [{ score, sufficient: true }] : []
  })
  return auroc(scored) ?? null
}

const MEANING = [
  'Right passages are counted: a list whatever the decision, an answer only where the decision is to answer.',
  'Words and vectors are the lists of each alone.',
  'Brackets have 95 % intervals in per cent of the questions; of right answers, in per cent of the lists.',
]

/** Returns what was asked, and one table for each half, as the terminal and the page show them. */
export function sectionsOf({ corpora, halves }: FieldQuestionCounts): readonly Section[] {
  const asked = corpora.map(
    ({ corpus, passages, questions, calibration: { threshold, calibrated_on: on } }) =>
      `${corpus}: ${passages} passages, ${questions} questions; threshold ${threshold.toFixed(3)}, ` +
      `calibrated on ${calibratedOnWords(on)}`,
  )
  const tables = Object.entries(halves).map(([half, counts]): Section => {
    const rows = Object.entries(counts.kinds).map(([kind, ofKind]) => columnsOf(ofKind, kind, counts))
    return {
      title: `The ${half} half`,
      head: (rows[0] ?? []).map(([name]) => name),
      rows: rows.map((columns) => columns.map(([, cell]) => cell)),
      lines: [
        'AUROC of the observed value, kinds named and plain against all unanswerable: ' +
          (counts.auroc?.toFixed(4) ?? '–'),
      ],
    }
  })
  return [{ title: 'Field questions', lines: [...asked, ...MEANING] }, ...tables]
}

type Column = readonly [name: string, cell: string | number]

function columnsOf(counts: ReturnType<typeof kindCountsOf>, kind: string, { systems }: Counts): readonly Column[] {
  const { n, answered, intervals } = counts
  return [
    ['kind', kind],
    ['questions', n],
    ['answered', withInterval(answered, intervals.answered)],
    ['listed first', counts.listed_first],
    ['listed in 5', withInterval(counts.listed_at5, intervals.listed_at5)],
    ['answered first', counts.answered_first],
    ['answered in 5', withInterval(counts.answered_at5, intervals.answered_at5)],
    ['words in 5', systems.lexical?.[kind] ?? 0],
    ...(systems.dense === undefined ? [] : [['vectors in 5', systems.dense[kind] ?? 0] as const]),
  ]
}

function withInterval(count: number, interval: readonly [low: number, high: number] | null): string {
  if (interval === null) return `${count}`
  const [low, high] = interval.map((share) => Math.round(share * 100))
  return `${count} [${low}, ${high}]`
}

/** Returns what a decision was calibrated on, for one line of a terminal. */
function calibratedOnWords(on: EvaluationReport['calibrated_on']): string {
  return on.source === 'question set'
    ? `${on.questions} labelled questions of the question set`
    : on.refused === undefined
      ? 'no labelled questions: the default applies'
      : `nothing: the default applies. ${refusedInWords(on.refused)}`
}
