import type { NamedChange, PassageChange } from '#jobs/evaluation/compare/changes-file.ts'
import { differingFields, fieldsNamed, type ServedField } from '#jobs/evaluation/compare/served-fields.ts'
import { whole } from '#jobs/evaluation/page/numbers.ts'
import { html } from '#jobs/platform/page/markup.ts'
import { cardOf, fieldsList, passageInPlace, rankOf, type Card } from './cards.ts'
import { isOfPassage, type Placed } from './neighbours.ts'
import { warningsOf } from './warnings.ts'

/** A passage that the candidate holds from another day on: one is removed, or ends, and one is added. */
export interface Redated {
  readonly removed: PassageChange
  readonly added: PassageChange
  readonly from: Placed
  readonly to: Placed
  /** Fields that a reply shows and that differ. */
  readonly fields: readonly ServedField[]
}

/** Finds the passages of a document that are removed, or end, and are added once each, from another day on. */
export function redatedIn(changes: readonly NamedChange[], placed: (change: NamedChange) => Placed | undefined) {
  const ofPassages = changes.filter(isOfPassage)
  const byProvision = Map.groupBy(ofPassages, ({ language, provision }) => `${language} ${provision}`)
  const redated = [...byProvision.values()].flatMap((of): readonly Redated[] => {
    const [removed, ...moreRemoved] = of.filter((one) => one.kind === 'passages_removed' || isEnded(one))
    const [added, ...moreAdded] = of.filter(({ kind }) => kind === 'passages_added' || kind === 'passages_repeated')
    if (removed === undefined || added === undefined || moreRemoved.length + moreAdded.length > 0) return []
    const [from, to] = [placed(removed), placed(added)]
    if (from === undefined || to === undefined) return []
    return [{ removed, added, from, to, fields: differingFields(from.passage, to.passage) }]
  })
  const taken = new Set<NamedChange>(redated.flatMap(({ removed, added }) => [removed, added]))
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
  const alike = Map.groupBy(ordered, ({ removed, added, from, to, fields }) =>
    added.kind === 'passages_repeated' || fields.some((field) => OWN_FIELDS.has(field))
      ? `${added.language} ${added.provision}`
      : JSON.stringify([removed.day, added.day, added.language, ...[from, to].map((one) => valuesOf(one, fields))]),
  )
  return [...alike.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [cardOfAll(first, others, idOf)],
  )
}

function cardOfAll(first: Redated, others: readonly Redated[], idOf: (change: NamedChange) => string): Card {
  const { removed, added, from, to, fields } = first
  const warned = warningsOf(from.passage.text, to.passage.text).length > 0
  const kinds = [
    removed.kind,
    added.kind,
    'dates',
    ...(fields.includes('text') ? ['text'] : []),
    ...(warned ? ['warning'] : []),
  ]
  const days = html`<span class="soft">· ${added.language} · in force from ${removed.day} → ${added.day}</span>`
  const [before, after] = [valuesOf(from, fields), valuesOf(to, fields)]
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
  const name = removed.kind === 'passages_removed' ? 'in force from another day' : 'followed by a later text'
  const markup = cardOf(idOf(removed), kinds, name, headline, details)
  return { ordinal: to.ordinal, rank: rankOf(kinds), kinds, markup }
}

function valuesOf({ passage }: Placed, fields: readonly ServedField[]): ReturnType<typeof fieldsNamed> {
  return fieldsNamed(passage, fields)
}
