import { words } from '#core/index/analysis/words.ts'
import { sha256 } from '#core/platform/digest.ts'
import { fitLogisticRegression, predict, type LabelledSample } from './logistic-regression.ts'

/**
 * Assigns keys to folds: distinct keys in the order of their SHA-256, round robin. Equal keys share a fold, folds
 * differ by at most one key, and the order of the questions has no effect.
 * @returns the fold of each key, from 0. The number of folds is `foldsMax`, or the number of distinct keys if that is
 * smaller.
 */
export function assignFolds(keys: readonly string[], foldsMax: number): readonly number[] {
  const hashed = [...new Set(keys)].map((key) => ({ key, hash: sha256(key).toString('hex') }))
  hashed.sort((a, b) => (a.hash < b.hash ? -1 : 1))
  const foldOf = new Map(hashed.map(({ key }, at) => [key, at % foldsMax]))
  return keys.map((key) => foldOf.get(key) ?? 0)
}

/** Folds of cross-fitting. */
const FOLDS = 5

/** Returns the fold of each question. Questions of a group share one; without a group, those with the same words. */
export function foldsOf<Q extends { readonly text: string; readonly group: string | undefined }>(
  questions: readonly Q[],
): ReadonlyMap<Q, number> {
  const folds = assignFolds(
    questions.map(({ text, group }) => group ?? words(text).join(' ')),
    FOLDS,
  )
  return new Map(questions.map((question, at) => [question, folds[at] ?? 0]))
}

/**
 * Returns the probability of each sample under a model that was fitted without its fold.
 * @param folds of each sample; at least two different ones.
 */
export function outOfFoldProbabilities(
  samples: readonly LabelledSample[],
  folds: readonly number[],
  penalty: number,
  mayFall?: readonly boolean[],
): readonly number[] {
  const probabilities = new Array<number>(samples.length).fill(0)
  for (const fold of new Set(folds)) {
    const held = samples.flatMap((sample, at) => (folds[at] === fold ? [{ sample, at }] : []))
    const model = fitLogisticRegression(
      samples.filter((_, at) => folds[at] !== fold),
      penalty,
      mayFall,
    )
    const predicted = predict(
      model,
      held.map(({ sample }) => sample),
    )
    for (const [index, { at }] of held.entries()) probabilities[at] = predicted[index] ?? 0
  }
  return probabilities
}
