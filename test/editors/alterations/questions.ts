import { withFile, type Alteration } from './alteration.ts'
import type { Sources } from '../sources.ts'
import { parseMarkdown, writeMarkdown } from './markdown-file.ts'

/** Leaves out a provision, so that a question set has something to hide. */
function withoutProvision(sources: Sources, relevant: string): Sources {
  const anchor = relevant.slice(relevant.indexOf('#') + 1)
  for (const [name, text] of sources.files) {
    const file = parseMarkdown(text)
    const provisions = file.provisions.filter((each) => !each.includes(`{#${anchor}}`))
    if (provisions.length < file.provisions.length && provisions.length > 0)
      return withFile(sources, name, writeMarkdown({ ...file, provisions }))
  }
  return sources
}

const PADDING: Alteration = {
  name: 'pads the question set',
  row: 'question sets',
  alter(sources, draw) {
    const { questions } = sources
    if (questions === undefined) return undefined
    const relevant = draw.pick([[], ['nowhere#1']])
    const answerable = draw.pick([true, undefined])
    const count = 1 + draw.below(60)
    const padding = Array.from({ length: count }, (_, at) => ({
      id: `p${at}`,
      text: `How many ${draw.marker()} has a ${draw.marker()}?`,
      relevant,
      ...(answerable === undefined ? {} : { answerable }),
    }))
    const padded = { ...sources, questions: draw.shuffled([...questions, ...padding]) }
    const refused = answerable === true || relevant.length > 0
    return {
      sources: padded,
      what: `${count} questions of ${JSON.stringify(relevant)}`,
      expect: refused ? [{ kind: 'refused' }] : [],
    }
  },
}

const HIDING: Alteration = {
  name: 'hides a loss behind another question set',
  row: 'question sets',
  alter(sources, draw) {
    const { questions } = sources
    if (questions === undefined) return undefined
    const answerable = questions.filter(({ relevant }) => relevant.length > 0)
    if (answerable.length < 2) return undefined
    const lost = draw.pick(answerable)
    const left = draw.chance(0.7) ? withoutProvision(sources, lost.relevant[0] ?? '') : sources
    const others = questions.filter((question) => question.id !== lost.id)
    const [what, chosen] = draw.pick<readonly [string, Sources['questions']]>([
      ['no question set', undefined],
      ['without the question', others],
      ['easy questions only', draw.some(others)],
      [
        'the question without an answer',
        questions.map((each) => (each.id === lost.id ? { ...each, relevant: [] } : each)),
      ],
      [
        'another text',
        questions.map((each) => (each.id === lost.id ? { ...each, text: others[0]?.text ?? '' } : each)),
      ],
      [
        'another answer',
        questions.map((each) =>
          each.id === lost.id
            ? { ...each, relevant: others.find(({ relevant }) => relevant.length > 0)?.relevant ?? [] }
            : each,
        ),
      ],
      [
        'filters',
        questions.map((each) => (each.id === lost.id ? { ...each, filters: { in_force_on: '2024-01-01' } } : each)),
      ],
      ['other ids', questions.map((each) => ({ ...each, id: `n-${each.id}` }))],
    ])
    return { sources: { ...left, questions: chosen }, what: `${lost.id}: ${what}` }
  },
}

export const QUESTION_ALTERATIONS: readonly Alteration[] = [PADDING, HIDING]
