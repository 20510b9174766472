import { changesInWords } from '#core/domain/changes.ts'
import type { EvaluationReport, Gate, Refused } from './evaluation-report.ts'
import { figure, whole } from './numbers.ts'

const NAMED_MAX = 4

export interface Verdict {
  readonly tone: 'good' | 'doubtful' | 'bad' | 'plain'
  readonly word: string
  readonly sentence: string
}

/** What every approval must accept by name: kinds of change beyond their limits, and a ranking that is worse. */
export function kindsToName({ gates, comparison }: EvaluationReport): readonly string[] {
  const beyond = gates.filter(({ group, passed }) => group === 'changes' && !passed).map(({ label }) => label)
  return comparison?.worse === true ? [...beyond, 'ranking'] : beyond
}

export function verdictOf(report: EvaluationReport): Verdict {
  const { gates, comparison, kind } = report
  const bars = gates.filter(({ group }) => group !== 'changes')
  const failed = bars.filter((gate) => !gate.passed)
  if (kind === 'data set') return { tone: 'plain', word: 'Measured', sentence: measured(report) }
  if (failed.length > 0 || !report.passed) {
    const which =
      failed.length === 0
        ? 'It did not pass'
        : `It misses ${failed.length} of ${count(bars.length, 'gate')}: ${named(failed)}`
    return { tone: 'bad', word: 'Not passed', sentence: `${which}; it cannot be activated.` }
  }
  const passes =
    bars.length === 0
      ? 'No gate was set for it'
      : `It passes ${bars.length === 1 ? 'its one gate' : `all ${bars.length} gates`}`
  if (comparison === null)
    return { tone: 'good', word: 'Passed', sentence: `${passes}; it was not compared with an active version.` }
  const toName = kindsToName(report)
  const reasons = [
    ...(comparison.worse
      ? [`it is worse than the active version on ${comparison.worse_on.map(metricName).join(', ')}`]
      : []),
    ...(comparison.changes === undefined || toName.every((name) => name === 'ranking')
      ? []
      : [changesInWords(comparison.changes)]),
  ]
  if (reasons.length > 0) {
    const sentence = `${passes}, but ${reasons.join('; ')}: every approval must accept ${toName.join(', ')} by name.`
    return { tone: 'doubtful', word: comparison.worse ? 'Passed, but worse' : 'Passed, with changes', sentence }
  }
  return {
    tone: 'good',
    word: 'Passed',
    sentence:
      `${passes} and is not worse than the active version on the ` +
      `${count(comparison.questions, 'question')} that both were asked.`,
  }
}

export function metricName(metric: string): string {
  return metric.replace('ndcg', 'nDCG').replace('map', 'MAP').replace('mrr', 'MRR')
}

function measured({ systems, passages, queries }: EvaluationReport): string {
  const best = (['hybrid', 'lexical', 'dense'] as const).find((name) => systems[name] !== undefined)
  const reached =
    best === undefined
      ? 'Nothing was ranked'
      : `The ${best} ranking reaches nDCG@10 ${figure(systems[best]?.['ndcg@10'] ?? null)}`
  return `${reached}; ${count(queries, 'question')} asked of ${count(passages, 'passage')}.`
}

/** Why a fitted decision is not used, in one sentence. */
export function refusedInWords({ answered, drawn, masked }: Refused): string {
  const texts = masked
    ? 'answerable questions once the passages that answer them were left out'
    : 'texts that were drawn at random and that no passage answers'
  return `A decision fitted on the questions answered ${answered} of ${drawn} ${texts}.`
}

function named(gates: readonly Gate[]): string {
  const shown = gates.slice(0, NAMED_MAX).map((gate) => gate.label)
  return gates.length > NAMED_MAX ? `${shown.join('; ')}; and ${gates.length - NAMED_MAX} more` : shown.join('; ')
}

function count(value: number, noun: string): string {
  return `${whole(value)} ${noun}${value === 1 ? '' : 's'}`
}
