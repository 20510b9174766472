import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { FoundPassage } from '#core/rpc/search-node.ts'
import { decide } from '#gateway/retrieve/decide.ts'
import type { PinnedRequest } from '#gateway/retrieve/pin.ts'

// Only `pin` makes a pinned request; this test needs what `decide` reads of it.
const pinnedWith = (threshold: number): PinnedRequest => ({ profile: { threshold, signal: 'top_score' } }) as unknown as PinnedRequest
const passagesWith = (scores: readonly number[]): readonly FoundPassage[] => scores.toSorted((a, b) => b - a).map((score) => ({ score }) as FoundPassage)
const unit = fc.double({ min: 0, max: 1, noNaN: true })

it('answer iff a passage remains and the best score reaches the threshold; the value is that score, or 0', () => {
  fc.assert(
    fc.property(unit, fc.array(unit, { maxLength: 5 }), (threshold, scores) => {
      const { decision, observed_value: observed, threshold: told, signal } = decide(pinnedWith(threshold), passagesWith(scores))
      expect([told, signal, observed]).toEqual([threshold, 'top_score', Math.max(0, ...scores)])
      expect(decision).toBe(scores.length > 0 && observed >= threshold ? 'answer' : 'abstain')
    }),
  )
})

it('a value that equals the threshold answers', () => {
  expect(decide(pinnedWith(0.5), passagesWith([0.5])).decision).toBe('answer')
})

it('with nothing left it abstains even at a threshold of 0', () => {
  expect(decide(pinnedWith(0), [])).toMatchObject({ decision: 'abstain', observed_value: 0 })
})
