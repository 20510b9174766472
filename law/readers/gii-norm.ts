import type { DocumentFields } from './document.ts'
import { dated, dayIn, type MarkupFormat, type ReadTree } from './format.ts'
import { germanCitation, lastAmendment } from './german-citation.ts'
import { FORCE_NOTE } from './standing.ts'
import { CONTENTS, marked, METADATA, omitted, type Role, type Roles } from './roles.ts'
import { allNamed, attribute, at, childNamed, textOf, wordSet, type MarkupElement } from './tree.ts'
import NAMES from './names/gii-norm.json' with { type: 'json' }
import { formatOf } from './vocabulary.ts'
import { parseXml } from './xml.ts'

const BLOCKS = wordSet(NAMES.blocks)
/** Below all divisions, which have the rank of their depth. */
const PROVISION_RANK = 50
/** Digits by which the number of a division grows with each level. */
const DIVISION_DIGITS = 3

/** German federal law as gesetze-im-internet.de publishes it (gii-norm.dtd): a list of norms, each below the last division. */
export const GII_NORM: MarkupFormat = {
  format: 'gii-norm',
  parse: parseXml,
  recognises: ({ kind, root, head }) => kind === 'xml' && root === 'dokumente' && /<norm[\s>]/.test(head),
  vocabulary: () => formatOf(NAMES, []).vocabulary,
  roles: createRoles,
  fields: fieldsOf,
  cite: germanCitation,
}

function createRoles(): Roles {
  const noteMark = createNoteMarks()
  const { roles } = formatOf(
    NAMES,
    [],
    [(each) => (numberOf(each)?.startsWith('Inhalts') === true ? CONTENTS : { is: 'block' }), 'norm'],
    [provisionOf, 'enbez'],
    [divisionOf, 'gliederungseinheit'],
    [({ parent }) => ({ is: isArticle(parent) ? 'heading' : 'block' }), 'gliederungstitel'],
    [(each) => (textOf(each) === '-' ? omitted('division without a name') : { is: 'block' }), 'gliederungsbez'],
    [
      (each) => (FORCE_NOTE.test(textOf(each) ?? '') ? { is: 'block' } : omitted('documentary note of the publisher')),
      'fussnoten',
    ],
    [(each) => marked(noteMark(each)), 'FnR'],
    [(each) => ({ is: 'item', mark: noteMark(each) }), 'Footnote'],
  )
  return (element) => {
    const isStated = ['metadaten', 'gliederungseinheit'].includes(element.parent?.name ?? '')
    return roles(element) ?? (isStated ? METADATA : { is: BLOCKS.has(element.name) ? 'block' : 'inline' })
  }
}

/** `§ 433`, `Art 1`, `Anlage 2`, `Eingangsformel`: what a norm is called. */
function numberOf(norm: MarkupElement | undefined): string | undefined {
  return textOf(childNamed(childNamed(norm, 'metadaten'), 'enbez'))
}

function provisionOf(number: MarkupElement): Role {
  const kind = kindOf(textOf(number) ?? '')
  const rank = kind === 'annex' ? 1 : PROVISION_RANK
  return { is: 'start', kind, level: 'passage', rank, anchor: anchorOf(number.parent?.parent), names: 'label' }
}

function kindOf(number: string): string {
  if (/^An(?:lage|hang)/.test(number)) return 'annex'
  if (number.startsWith('Art')) return 'article'
  return /^(?:\([Xx-]+\)\s*)?§/.test(number) ? 'section' : 'heading'
}

/** A norm repeats the division that it is in. An article of an introductory act may be a division with text. */
function divisionOf(division: MarkupElement): Role {
  const norm = division.parent?.parent
  if (numberOf(norm) !== undefined) return METADATA
  const rank = Math.ceil((textOf(childNamed(division, 'gliederungskennzahl'))?.length ?? 0) / DIVISION_DIGITS)
  const place = { rank: Math.min(Math.max(rank, 1), PROVISION_RANK - 1), anchor: anchorOf(norm) }
  return isArticle(division)
    ? { is: 'start', kind: 'article', level: 'passage', names: 'label', ...place }
    : { is: 'start', kind: 'division', level: 'division', names: 'heading', ...place }
}

function isArticle(division: MarkupElement | undefined): boolean {
  return /^Art(?:ikel)?\s*\d/.test(textOf(childNamed(division, 'gliederungsbez')) ?? '')
}

function anchorOf(norm: MarkupElement | undefined): string | undefined {
  return attribute(norm, 'doknr')
}

/** A note and the marks of it have one id; it is numbered within its norm. */
function createNoteMarks(): (element: MarkupElement) => string {
  const byNorm = new Map<MarkupElement, ReadonlyMap<string | undefined, number>>()
  return (element) => {
    let norm = element
    while (norm.name !== 'norm' && norm.parent !== undefined) norm = norm.parent
    const numbers = byNorm.get(norm) ?? notesOf(norm)
    byNorm.set(norm, numbers)
    const number = numbers.get(attribute(element, 'ID'))
    return number === undefined ? '' : `[${number}]`
  }
}

/** The numbers of the notes of a norm, from 1, by their ids; of equal ids the first counts. */
function notesOf(norm: MarkupElement): ReadonlyMap<string | undefined, number> {
  return new Map(
    allNamed(norm, 'Footnote')
      .map((note, index) => [attribute(note, 'ID'), index + 1] as const)
      .toReversed(),
  )
}

function fieldsOf({ tree: { root } }: ReadTree): DocumentFields {
  const metadata = at(root, 'norm', 'metadaten')
  const stated = (name: string): string | undefined => textOf(childNamed(metadata, name))
  const signed = dayIn(stated('ausfertigung-datum'))
  return {
    title: stated('langue') ?? stated('kurzue'),
    identifier: stated('jurabk'),
    // `BauGB` is the official abbreviation of what juris abbreviates as `BBauG`.
    names: [stated('amtabk') ?? stated('jurabk'), stated('kurzue'), stated('langue')].flatMap((name) => name ?? []),
    language: 'de',
    jurisdiction: 'DE',
    publishedAt: dated(signed, 'enactment'),
    effectiveFrom: lastAmendment(textOf(metadata) ?? '', signed),
  }
}
