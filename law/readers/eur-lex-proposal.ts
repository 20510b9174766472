import { allNamed, attribute, textOf, type MarkupElement } from './tree.ts'
import { dated, dayInNumbers, type ReadTree } from './format.ts'
import type { DocumentFields } from './document.ts'
import { ANNEX_RANK, ARTICLE_RANK, divisionRank, FINAL_RANK, namesDivision } from './eur-lex-divisions.ts'
import { classesOf } from './eur-lex-fields.ts'
import { pageFields, pageRole } from './html-page.ts'
import { lead, marked, type Role } from './roles.ts'

/** Of the line with the number of a document of the Commission: `COM(2021) 206 final`. */
const REFERENCE = 'Rfrenceinstitutionnelle'
/** Explanatory memorandum, the act itself, and financial statement follow each other. */
const PART_TITLES = ['Exposdesmotifstitre', 'Typedudocument', 'Fichefinanciretitre'] as const
const HEADINGS = [
  ['Titrearticle', 'article'],
  ['Annexetitre', 'annex'],
  ['SectionTitle', 'division'],
] as const
const TITLE_LINES = ['Statut', 'Typedudocument_cp', 'Titreobjet_cp'] as const

/** Whether a page is a document of the Commission: styles of Word are the classes of its paragraphs. */
export function isProposal(root: MarkupElement): boolean {
  return lineOf(root, REFERENCE) !== undefined
}

function lineOf(root: MarkupElement, style: string): string | undefined {
  return textOf(allNamed(root, 'p').find((each) => classesOf(each)(style)))
}

export function proposalRole(element: MarkupElement): Role {
  const has = classesOf(element)
  if (element.name === 'dl' && isListOfNotes(element))
    return { is: 'unit', kind: 'notes', level: 'division', ends: ANNEX_RANK }
  if (element.name === 'span' && has('num')) return isRecital(element.parent) ? { is: 'label' } : lead()
  // The number of a note would be read as digits of the number before it.
  if (has('footnoteRef')) return marked('[', ']')
  if (element.name !== 'p') return pageRole(element)
  if (isRecital(element)) return { is: 'unit', kind: 'recital', level: 'passage' }
  if (has('Titreobjet')) return { is: 'heading' }
  const rank = rankOf(element)
  if (rank === undefined) return pageRole(element)
  const kind = HEADINGS.find(([style]) => has(style))?.[1] ?? 'heading'
  if (kind === 'division' && !namesDivision(textOf(element) ?? '')) return { is: 'heading' }
  return { is: 'start', kind, level: kind === 'article' ? 'passage' : 'division', rank, names: 'heading' }
}

/** The rank of a heading; undefined for another line, such as a quoted heading. */
function rankOf(element: MarkupElement): number | undefined {
  const has = classesOf(element)
  if (has('Annexetitre', ...PART_TITLES)) return ANNEX_RANK
  if (has('Titrearticle')) return /^["'‘“„«]/.test(textOf(element) ?? '') ? undefined : ARTICLE_RANK
  if (has('SectionTitle')) return divisionRank(textOf(element) ?? '')
  if (has('Fait')) return FINAL_RANK
  const level = /\bManualHeading([1-4])\b/.exec(attribute(element, 'class') ?? '')?.[1]
  return level === undefined ? undefined : ANNEX_RANK + Number(level)
}

function isRecital(element: MarkupElement | undefined): boolean {
  return element !== undefined && classesOf(element)('ManualConsidrant', 'Considrant')
}

function isListOfNotes(list: MarkupElement): boolean {
  return list.children.some((each) => each.kind === 'element' && /^footnote\d/.test(attribute(each, 'id') ?? ''))
}

export function proposalFields(read: ReadTree): DocumentFields {
  const { root } = read.tree
  const page = pageFields(read)
  const lines = TITLE_LINES.map((style) => lineOf(root, style) ?? lineOf(root, style.replace('_cp', '')))
  return {
    title: lines.filter((line) => line !== undefined).join(' ') || page.title,
    identifier: lineOf(root, REFERENCE),
    language: page.language,
    jurisdiction: 'EU',
    url: page.url,
    publishedAt: dated(dayInNumbers(lineOf(root, 'Emission'))),
  }
}
