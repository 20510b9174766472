import { createActAliases, referencesIn } from '#law/citations/parser.ts'
import type { ActAliases, ExplicitReference } from '#law/citations/parser.ts'
import type { LabelledReference, Sentence } from './judgements.ts'

/** Names of the acts of a corpus, and their ids. */
export interface Vocabulary {
  readonly aliases: ActAliases
  readonly held: ReadonlySet<string>
}

export interface Score {
  readonly right: number
  readonly found: number
  readonly expected: number
  /** What was read and is none, with its act. */
  readonly wrong: readonly string[]
  /** What was judged a reference and was not read. */
  readonly missed: readonly string[]
}

export const NO_SCORE: Score = { right: 0, found: 0, expected: 0, wrong: [], missed: [] }

export function createVocabulary(
  acts: readonly { readonly id: string; readonly aliases: readonly string[] }[],
): Vocabulary {
  return {
    aliases: createActAliases(acts.flatMap(({ id, aliases }) => [id, ...aliases].map((name) => [name, id] as const))),
    held: new Set(acts.map(({ id }) => id)),
  }
}

/**
 * Compares what is read in a sentence with its judgement. A reference is right if it covers the judged range, with all
 * parts of the provision, and has its act. What the judgement leaves open counts neither way.
 * @param text of the whole record.
 */
export function scoreSentence(sentence: Sentence, text: string, { aliases, held }: Vocabulary): Score {
  const certain = referencesIn(text.slice(sentence.start, sentence.end), aliases).certain
  const left = [...sentence.references]
  const wrong: string[] = []
  let right = 0
  for (const reference of certain) {
    const at = left.findIndex(
      (labelled) => covers(reference, labelled, sentence.start) && isAct(reference, labelled, held),
    )
    if (at >= 0) {
      left.splice(at, 1)
      right += 1
    } else if (!isOpen(reference, sentence)) wrong.push(`${reference.text} → ${reference.reference.act ?? 'any act'}`)
  }
  return {
    right,
    found: right + wrong.length,
    expected: sentence.references.length,
    wrong,
    missed: left.map(({ start, end, act }) => `${text.slice(start, end)} → ${act ?? 'any act'}`),
  }
}

export function sumOf(a: Score, b: Score): Score {
  return {
    right: a.right + b.right,
    found: a.found + b.found,
    expected: a.expected + b.expected,
    wrong: [...a.wrong, ...b.wrong],
    missed: [...a.missed, ...b.missed],
  }
}

function covers({ start, end }: ExplicitReference, labelled: LabelledReference, offset: number): boolean {
  return offset + start <= labelled.start && offset + end >= labelled.end
}

function isAct({ reference }: ExplicitReference, { act }: LabelledReference, held: ReadonlySet<string>): boolean {
  if (act === 'named') return reference.act !== undefined && !held.has(reference.act)
  return (reference.act ?? null) === act
}

function isOpen({ start, end }: ExplicitReference, sentence: Sentence): boolean {
  const [from, to] = [sentence.start + start, sentence.start + end]
  return sentence.open.some((range) => from < range.end && to > range.start)
}
