import { z } from 'zod'

const CALIBRATION_FEATURES_MAX = 64
export const CALIBRATION_CURVE_POINTS_MAX = 50

const share = z.number().min(0).max(1)
const perFeature = z.array(z.number()).min(1).max(CALIBRATION_FEATURES_MAX).readonly()

/** A logistic model over standardised features; all lists have the same length and order. */
export interface LogisticModel {
  readonly means: readonly number[]
  /** Greater than 0; 1 for a feature that never varied. */
  readonly scales: readonly number[]
  readonly coefficients: readonly number[]
  readonly intercept: number
  /** A lower value counts as this; null, or absent: as it is. */
  readonly floors?: readonly (number | null)[] | undefined
}

const modelFields = {
  /** Names, in the order of the feature vector. */
  features: z.array(z.string().min(1).max(100)).min(1).max(CALIBRATION_FEATURES_MAX).readonly(),
  means: perFeature,
  scales: z.array(z.number().positive()).min(1).max(CALIBRATION_FEATURES_MAX).readonly(),
  coefficients: perFeature,
  intercept: z.number(),
  floors: z.array(z.number().nullable()).min(1).max(CALIBRATION_FEATURES_MAX).readonly().optional(),
}

type NamedFeatures = LogisticModel & { readonly features: readonly string[] }

function listsAgree({ features, means, scales, coefficients, floors = means }: NamedFeatures): boolean {
  return [means, scales, coefficients, floors].every((list) => list.length === features.length)
}

const LISTS_DIFFER = 'features, means, scales, coefficients and floors must have the same length'

function featuresDiffer({ features }: NamedFeatures): boolean {
  return new Set(features).size === features.length
}

/**
 * The model that turns the features of a ranked list into the probability of sufficient evidence, and the threshold for
 * an answer. It is stored with the immutable profile, so every decision can be recomputed. The figures are
 * cross-validated: each question's probability comes from a model fitted without it. Where coefficients were given and
 * not fitted, the figures are null and `folds` is 0.
 */
export const calibrationSchema = z
  .strictObject({
    ...modelFields,
    /** The model for a list with passages of a provision that the question names; null: there is one model. */
    named: z
      .strictObject(modelFields)
      .refine(listsAgree, LISTS_DIFFER)
      .refine(featuresDiffer, 'a feature is named twice')
      .nullable(),
    /** The decision is to answer iff the probability is not less than this. */
    threshold: share,
    /** At most this share of the answers may be without sufficient evidence. */
    target_risk: share,
    folds: z.int().nonnegative(),
    /** [coverage, risk], coverage ascending. */
    curve: z
      .array(z.tuple([share, share]).readonly())
      .max(CALIBRATION_CURVE_POINTS_MAX)
      .readonly(),
    auroc: share.nullable(),
    aurc: share.nullable(),
    ece: share.nullable(),
    /** Share of all questions that are answered at the threshold. */
    coverage_at_target: share.nullable(),
    /** Questions that threshold and figures come from; those of named provisions have no part in the coefficients. */
    questions: z.int().nonnegative(),
    answerable: z.int().nonnegative(),
  })
  .refine(listsAgree, LISTS_DIFFER)
  .refine(featuresDiffer, 'a feature is named twice')
export type Calibration = z.infer<typeof calibrationSchema>

/** 1 / (1 + e^-x), in [0, 1] for every finite x. */
export function logistic(x: number): number {
  return 1 / (1 + Math.exp(-x))
}

/**
 * Returns the probability that a calibration assigns to features. Its model for named provisions applies where the
 * feature `named` is 1.
 * @param names of `values`, in their order; names that the calibration does not use are ignored.
 * @returns in [0, 1].
 * @throws RangeError when a feature of the calibration was not measured or is not finite.
 */
export function probability(calibration: Calibration, names: readonly string[], values: readonly number[]): number {
  const { model, features } = decidingModel(calibration, names, values)
  return modelProbability(model, features)
}

function decidingModel(calibration: Calibration, names: readonly string[], values: readonly number[]) {
  const valueOf = (feature: string): number => values[names.indexOf(feature)] ?? Number.NaN
  const model = calibration.named !== null && valueOf('named') === 1 ? calibration.named : calibration
  return { model, features: model.features.map(valueOf) }
}

/** What each feature of the deciding model adds to the log-odds of `probability`; the rest is the intercept. */
export function logOddsShares(calibration: Calibration, names: readonly string[], values: readonly number[]) {
  const { model, features } = decidingModel(calibration, names, values)
  const shares = model.features.map((name, at) => {
    const [value = Number.NaN, weight = 0] = [features[at], model.coefficients[at]]
    return { name, value, weight, adds: weight * standardised(model, at, value) }
  })
  return [...shares, { name: 'intercept', value: 1, weight: model.intercept, adds: model.intercept }]
}

function standardised(model: LogisticModel, at: number, value: number): number {
  const floored = Math.max(value, model.floors?.[at] ?? Number.NEGATIVE_INFINITY)
  return (floored - (model.means[at] ?? 0)) / (model.scales[at] ?? 1)
}

/**
 * @param features in the order of the model's own.
 * @returns in [0, 1].
 * @throws RangeError when the number of features differs from the model's, or one is not finite.
 */
export function modelProbability(model: LogisticModel, features: readonly number[]): number {
  return logistic(modelLogOdds(model, features))
}

/** The log-odds of `modelProbability`. @throws RangeError like it. */
export function modelLogOdds(model: LogisticModel, features: readonly number[]): number {
  if (features.length !== model.coefficients.length)
    throw new RangeError(`${features.length} features for ${model.coefficients.length} coefficients`)
  if (!features.every(Number.isFinite)) throw new RangeError('a feature is missing or not a finite number')
  let logit = model.intercept
  for (const [at, coefficient] of model.coefficients.entries())
    logit += coefficient * standardised(model, at, features[at] ?? 0)
  return logit
}
