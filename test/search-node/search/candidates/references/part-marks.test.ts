import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { textsMarking } from '#search-node/search/candidates/references/resolve.ts'
import { cpuMs } from '#test/support/processes.ts'

describe('the part of a provision that a text marks', () => {
  test.each([
    ['(f)\nlegitimate interests', ['f']],
    ['1.   Processing is lawful only if:\n(a)\nconsent;\n(f)\ninterests.', ['1', 'f']],
    ['(1) Dieses Gesetz gilt.\n\n1.  öffentliche Stellen\n\n    a)  Bundesrecht', ['1', '1', 'a']],
    ['(g)(1) Covered loans.', ['1']],
    ['A bank keeps (iii) every record.', ['iii']],
    ['   2.\tThe Agency acts.', ['2']],
    ['(A) In capitals', ['a']],
  ])('%j marks %j', (text, parts) => {
    expect(textsMarking([text], parts)).toEqual([0])
  })

  test.each([
    ['Under Article 6(1)(f) it is lawful.', ['f']],
    ['It happened in chapter 2. The Agency acts.', ['2']],
    ['1.   Processing is lawful.', ['2']],
    ['(a) consent', ['1', 'a']],
    ['(aa) consent', ['a']],
    ['12. Twelve', ['2']],
    ['', ['a']],
  ])('%j does not mark %j', (text, parts) => {
    expect(textsMarking([text], parts)).toEqual([])
  })

  test('may lie in another piece of a text that was cut than the part around it', () => {
    expect(
      textsMarking(['(1) The keeper:\n(a) counts;', '(b) reports.\n(2) The register.', '(c) ends.'], ['1', 'b']),
    ).toEqual([1])
  })

  test('is looked for as it is written, whatever signs it holds', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, maxLength: 8 }).filter((part) => part.trim() === part),
        (part) => {
          expect(textsMarking([`(${part}) text`], [part])).toEqual([0])
        },
      ),
    )
  })

  test('is found in time linear in the text', () => {
    const timeMs = (length: number): number => {
      const text = '(a'.repeat(length)
      return cpuMs(() => textsMarking([text, ' '.repeat(length * 2), '(a)'.repeat(length)], ['b', 'f']))
    }
    timeMs(1_000)
    expect(timeMs(2_000)).toBeLessThan(200)
  })
})
