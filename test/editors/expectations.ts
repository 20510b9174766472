import type { Expectation } from './alterations/alteration.ts'
import { loose, unmatched, violation, type Pair, type Violation } from './oracle.ts'
import { isReported, squeezed } from './lost-words.ts'
import type { HeldPassage } from './surface.ts'

/** Returns what an alteration expects of a version that nothing refused, and the version does not hold. */
export function unmetExpectations(pair: Pair, expectations: readonly Expectation[]): readonly Violation[] {
  return expectations.flatMap((expectation) => [...unmet(pair, expectation)])
}

function* unmet(pair: Pair, expectation: Expectation): Generator<Violation> {
  const { before, after, candidate } = pair
  const found = (fragment: string): readonly HeldPassage[] =>
    after.passages.filter(({ text, heading }) => squeezed(`${heading} ${text}`).includes(squeezed(fragment)))
  switch (expectation.kind) {
    case 'refused':
      yield { rule: 'the alteration is refused', what: 'a candidate was built' }
      return
    case 'unchanged':
      for (const passage of [...unmatched(before, after), ...unmatched(after, before)])
        yield violation('both versions serve the same', passage)
      return
    case 'kept':
      if (found(expectation.fragment).length === 0 && !isReported(candidate.report, expectation.fragment))
        yield { rule: 'law of the sources is served or reported', what: expectation.fragment }
      return
    case 'served':
      if (!found(expectation.fragment).some(({ text }) => squeezed(text).includes(squeezed(expectation.fragment))))
        if (!isReported(candidate.report, expectation.fragment))
          yield { rule: 'law of the sources is served or reported', what: expectation.fragment }
      return
    case 'ends':
      for (const passage of found(expectation.fragment))
        if (passage.metadata.verification_status === 'verified' && (passage.in_force_to ?? '9') > expectation.day)
          yield violation(`a text ends on ${expectation.day}, as its source states`, passage)
      return
    case 'starts':
      for (const passage of found(expectation.fragment))
        if (passage.in_force_from < expectation.day || isDayAfter(passage.in_force_from, expectation.day))
          yield violation(`a text begins on ${expectation.day}, as its source states`, passage)
      return
    case 'stays':
      yield* endsOtherwise(pair, expectation.fragment)
      return
    case 'cited':
      for (const passage of found(expectation.fragment))
        if (!loose(passage.citation.label).includes(loose(expectation.label)))
          yield violation(`a text is cited as ${expectation.label}`, passage)
      return
    case 'led':
      for (const item of expectation.items)
        for (const passage of found(item))
          if (!passage.text.includes(expectation.leadIn)) yield violation('a part has its lead-in', passage)
      return
    default:
      expectation satisfies never
  }
}

/** A record may hold several revisions with one beginning; none of them is in force on both days. */
function isDayAfter(day: string, stated: string): boolean {
  return Date.parse(day) === Date.parse(stated) + 86_400_000
}

function* endsOtherwise({ before, after }: Pair, fragment: string): Generator<Violation> {
  const held = ({ passages }: Pair['before']): readonly HeldPassage[] =>
    passages.filter(({ text }) => squeezed(text).includes(squeezed(fragment)))
  const ends = new Set(held(after).map(({ in_force_from: from, in_force_to: to }) => `${from} ${to}`))
  for (const passage of held(before))
    if (!ends.has(`${passage.in_force_from} ${passage.in_force_to}`))
      yield violation('a text ends only by what is served', passage)
}
