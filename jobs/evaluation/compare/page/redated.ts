import type { NamedChange, PassageChange } from '#jobs/evaluation/compare/changes-file.ts'
import { differingFields, fieldsNamed, type ServedField } from '#jobs/evaluation/compare/served-fields.ts'
import { whole } from '#jobs/evaluation/page/numbers.ts'
import { html } from '#jobs/platform/page/markup.ts'
import { cardOf, fieldsList, passageInPlace, rankOf, type Card } from './cards.ts'
import { isOfPassage, type Placed } from './neighbours.ts'
import { warningsOf } from './warnings.ts'

type Redated = ReturnType<typeof redatedIn>['redated'][number]

/**
 * Finds the passages of a document that are added, and that follow one that is removed, or ends. Nothing is `removed`
 * where the earlier text ended on that day before, as its source states.
 */
export function redatedIn(changes: readonly NamedChange[], placed: (change: NamedChange) => Placed | undefined) {
  const ofPassages = changes.filter(isOfPassage)
  const byProvision = Map.groupBy(ofPassages, ({ language, provision }) => `${language} ${provision}`)
  const redated = [...byProvision.values()].flatMap((of) => {
    const ended = of.filter((one) => one.kind === 'passages_removed' || isEnded(one))
    const added = of.filter(({ kind }) => kind === 'passages_added' || kind === 'passages_repeated')
    const only = ended.length === 1 && added.length === 1 ? ended[0] : undefined
    return added.flatMap((one) => {
      const to = placed(one)
      const from = (only && placed(only)?.passage) ?? to?.earlier
      if (from === undefined || to === undefined) return []
      const removed = ended.find(({ day }) => day === from.in_force_from)
      return [{ removed, added: one, from, to, fields: differingFields(from, to.passage) }]
    })
  })
  const taken = new Set<NamedChange | undefined>(redated.flatMap(({ removed, added }) => [removed, added]))
  return { redated, rest: changes.filter((change) => !taken.has(change)) }
}

/** Only its last day changes: the text of a later revision follows it. */
function isEnded({ kind, before = {} }: PassageChange): boolean {
  return kind === 'passages_changed' && Object.keys(before).join() === 'in_force_to'
}

/** Fields of which one passage has other values than the next. */
const OWN_FIELDS: ReadonlySet<ServedField> = new Set(['text', 'heading', 'label', 'source_anchor', 'references'])

/**
 * Shows each passage whose text differs word by word in its place, and passages that only take other dates together.
 * @param idOf of a card, unique on the page.
 */
export function redatedCards(redated: readonly Redated[], idOf: (change: NamedChange) => string): readonly Card[] {
  const ordered = redated.toSorted((a, b) => a.to.ordinal - b.to.ordinal)
  const alike = Map.groupBy(ordered, (one) => {
    const { removed, added, from, fields } = one
    return added.kind === 'passages_repeated' || fields.some((field) => OWN_FIELDS.has(field))
      ? `${added.language} ${added.provision} ${added.day}`
      : JSON.stringify([removed?.kind, from.in_force_from, added.day, added.language, bothSides(one)])
  })
  return [...alike.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [cardOfAll(first, others, idOf)],
  )
}

function bothSides({ from, to, fields }: Redated) {
  return { before: fieldsNamed(from, fields), after: fieldsNamed(to.passage, fields) }
}

function cardOfAll(first: Redated, others: readonly Redated[], idOf: (change: NamedChange) => string): Card {
  const { removed, added, from, to, fields } = first
  const warned = warningsOf(from.text, to.passage.text).length > 0
  const marks = [fields.includes('text') ? 'text' : undefined, warned ? 'warning' : undefined]
  const kinds = [removed?.kind, added.kind, 'dates', ...marks].filter((kind) => kind !== undefined)
  const days = html`<span class="soft">· ${added.language} · in force from ${from.in_force_from} → ${added.day}</span>`
  const { before, after } = bothSides(first)
  const all = [first, ...others]
  const [headline, details] =
    others.length > 0
      ? [
          html`${whole(all.length)} passages with equal texts ${days}`,
          html`${fieldsList(before, after)}
            <details class="small">
              <summary>Their labels</summary>
              ${all.map(({ added: { label } }, at) => html`${at === 0 ? '' : ' · '}<bdi>${label}</bdi>`)}
            </details>`,
        ]
      : [
          html`<bdi>${added.label}</bdi> ${days}`,
          passageInPlace({ ...added, kind: 'passages_changed', before, after }, to, true),
        ]
  const name = removed?.kind === 'passages_removed' ? 'in force from another day' : 'followed by a later text'
  const markup = cardOf(idOf(removed ?? added), kinds, name, headline, details)
  return { ordinal: to.ordinal, rank: rankOf(kinds), kinds, markup }
}
