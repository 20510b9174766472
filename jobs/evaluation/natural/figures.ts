import { RANKING_MODES, servedOf } from '#jobs/evaluation/ask.ts'
import type { RankingMode } from '#jobs/evaluation/ask.ts'
import { auroc } from '#jobs/evaluation/metrics/abstention.ts'
import type { AskedCorpora } from './evaluation.ts'
import type { NaturalOutcome } from './judge.ts'

/** Kinds whose answerable questions the AUROC sets against all unanswerable ones. */
const AUROC_KINDS: readonly string[] = ['named', 'plain']

/** Numbers of questions. */
export interface KindCounts {
  readonly n: number
  readonly answered: number
  /** The first passage of the list is right, whatever the decision. */
  readonly listed_first: number
  /** A right passage is among the first five, whatever the decision. */
  readonly listed_at5: number
  /** Counts only the questions that the service answers. */
  readonly answered_first: number
  readonly answered_at5: number
}

/** Output of `--json`. Names and meanings are stable. */
export interface NaturalFigures {
  /**
   * AUROC of the observed value, as it is served, of answerable questions of the kinds `named` and `plain` against all
   * unanswerable ones. An unsupported reference forces an abstention and does not change the value. Null without both.
   */
  readonly auroc: number | null
  readonly kinds: Readonly<Record<string, KindCounts>>
  /** `listed_at5` by kind of the words alone and, with vectors, of the vectors alone and the served list. */
  readonly systems: Readonly<Partial<Record<RankingMode, Readonly<Record<string, number>>>>>
  readonly corpora: AskedCorpora['corpora']
}

export function figuresOf({ corpora, outcomes }: AskedCorpora): NaturalFigures {
  const kinds = Map.groupBy(outcomes, ({ question }) => question.kind)
  const byKind = <T>(measure: (asked: readonly NaturalOutcome[]) => T): Record<string, T> =>
    Object.fromEntries([...kinds].map(([kind, asked]) => [kind, measure(asked)]))
  const listedAt5 = (mode: RankingMode): Record<string, number> =>
    byKind((asked) => asked.filter(({ rank }) => typeof rank[mode] === 'number').length)
  const modes = RANKING_MODES.filter((mode) => outcomes.some(({ rank }) => rank[mode] !== undefined))
  return {
    auroc: aurocOf(outcomes),
    kinds: byKind(countsOf),
    systems: Object.fromEntries(modes.map((mode) => [mode, listedAt5(mode)])),
    corpora,
  }
}

function countsOf(asked: readonly NaturalOutcome[]): KindCounts {
  const answered = asked.filter(({ decision }) => decision === 'answer')
  const first = ({ rank }: NaturalOutcome): boolean => servedOf(rank) === 1
  const at5 = ({ rank }: NaturalOutcome): boolean => servedOf(rank) !== null
  return {
    n: asked.length,
    answered: answered.length,
    listed_first: asked.filter(first).length,
    listed_at5: asked.filter(at5).length,
    answered_first: answered.filter(first).length,
    answered_at5: answered.filter(at5).length,
  }
}

function aurocOf(outcomes: readonly NaturalOutcome[]): number | null {
  const scored = outcomes.flatMap(({ question: { kind, label }, observedValue: score }) => {
    if (label === 'unanswerable') return [{ score, sufficient: false }]
    return AUROC_KINDS.includes(kind) ? [{ score, sufficient: true }] : []
  })
  return auroc(scored) ?? null
}
