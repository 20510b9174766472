import { MARKDOWN_ALTERATIONS } from './alterations/markdown.ts'
import { TEXT_ALTERATIONS } from './alterations/markdown-texts.ts'
import { QUESTION_ALTERATIONS } from './alterations/questions.ts'
import { RECORD_ALTERATIONS } from './alterations/jsonl.ts'
import type { Alteration, Altered } from './alterations/alteration.ts'
import { BYTES } from './attacks/artifact.ts'
import type { Attack } from './attacks/attack.ts'
import { COMPARED } from './attacks/comparison.ts'
import { SQL } from './attacks/rows.ts'
import { drawFrom } from './draw.ts'
import { unmetExpectations } from './expectations.ts'
import { isRefused, type BuiltLaw, type Laboratory, type Refused } from './laboratory.ts'
import { brokenLaws, unnamedChanges, type Pair, type Violation } from './oracle.ts'
import { lostWords } from './lost-words.ts'
import { surfaceOf, type Surface } from './surface.ts'
import type { Sources } from './sources.ts'

const ALTERATIONS: readonly Alteration[] = [
  ...MARKDOWN_ALTERATIONS,
  ...TEXT_ALTERATIONS,
  ...RECORD_ALTERATIONS,
  ...QUESTION_ALTERATIONS,
]

/** A version that serves, of which candidates are compared. */
export interface ActiveLaw {
  readonly law: BuiltLaw
  readonly surface: Surface
  /** Losses of the corpus that its operator accepts. */
  readonly accepted: readonly string[]
}

export interface CaseResult {
  readonly seed: number
  readonly corpus: string
  readonly alteration: Pick<Alteration, 'name' | 'row'>
  readonly what: string
  /** Step and message; undefined: a candidate was built and compared. */
  readonly refused: string | undefined
  readonly violations: readonly Violation[]
}

const ATTACKS: readonly Attack[] = [BYTES, BYTES, COMPARED, SQL]
const KINDS: readonly (Alteration | Attack)[] = [...ALTERATIONS, ...ATTACKS]

const DRAWS_MAX = 100

/** The seed of one case of a run. Successive cases take each kind of alteration in turn. */
export function caseSeed(seed: number, number: number): number {
  const drawn = Math.floor(drawFrom(seed ^ Math.imul(number + 1, 0x9e3779b1)).below(2 ** 31 / KINDS.length))
  return drawn * KINDS.length + (number % KINDS.length)
}

/** The name of the kind of fault that a case tries. */
export function rowOf(seed: number): string {
  return kindOf(seed).row
}

function kindOf(seed: number): Alteration | Attack {
  const kind = KINDS[seed % KINDS.length]
  if (kind === undefined) throw new Error(`${seed} is no seed of a case`)
  return kind
}

/** Runs the case of a seed: the same seed draws the same corpus and alteration. */
export async function runCase(
  laboratory: Laboratory,
  actives: readonly ActiveLaw[],
  seed: number,
): Promise<CaseResult> {
  const draw = drawFrom(seed)
  const kind = kindOf(seed)
  for (let turn = 0; turn < DRAWS_MAX; turn++) {
    const active = draw.pick(actives)
    const drawn = { seed, corpus: active.law.sources.name, alteration: kind }
    if ('run' in kind) return { ...drawn, ...(await kind.run(laboratory, active.law, draw)) }
    const altered = kind.alter(active.law.sources, draw)
    if (altered === undefined || isSame(altered.sources, active.law.sources)) continue
    return { ...drawn, what: altered.what, ...(await judge(laboratory, active, altered, draw.chance(0.3))) }
  }
  throw new Error(`seed ${seed} draws no alteration`)
}

function isSame(one: Sources, other: Sources): boolean {
  return (
    JSON.stringify([...one.files, one.mapping, one.questions]) ===
    JSON.stringify([...other.files, other.mapping, other.questions])
  )
}

/** Names of losses, as the refusal of an import shows them. */
function lossesIn({ message }: Refused): readonly string[] {
  return [...message.matchAll(/; not accepted as (.+)$/gm)].map(([, name = '']) => name)
}

function refusalText({ refused, message }: Refused): string {
  return `${refused}: ${message}`
}

/**
 * Builds and compares what the editor hands in, and asks the oracle.
 * @param insists whether the editor accepts by name each loss that refuses the import. What becomes of it is named
 * then, so that the alteration itself expects nothing more.
 */
async function judge(
  laboratory: Laboratory,
  { law: active, surface: before, accepted }: ActiveLaw,
  { sources, expect: expected = [] }: Altered,
  insists: boolean,
): Promise<Pick<CaseResult, 'refused' | 'violations'>> {
  let candidate = await laboratory.build(sources, accepted)
  const losses = isRefused(candidate) ? lossesIn(candidate) : []
  const expect = insists && losses.length > 0 ? [] : expected
  if (insists && losses.length > 0) candidate = await laboratory.build(sources, [...accepted, ...losses])
  if (isRefused(candidate)) return { refused: refusalText(candidate), violations: [] }
  using ending = new DisposableStack()
  ending.defer(() => laboratory.discard(candidate))
  const pair: Pair = { active, candidate, before, after: surfaceOf(candidate) }
  const comparison = await laboratory.compare(active, candidate)
  if (isRefused(comparison)) return { refused: refusalText(comparison), violations: [] }
  const violations = [
    ...lostWords(pair),
    ...unmetExpectations(pair, expect),
    ...brokenLaws(pair),
    ...(await unnamedChanges(laboratory, pair, comparison)),
  ]
  return { refused: undefined, violations }
}
