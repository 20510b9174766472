import type { Citation, DocumentFields } from './document.ts'
import { nearest, type CitedProvision } from './format.ts'
import NAMES from './names/cfr.json' with { type: 'json' }
import { LOWERED, RAISED, type Role } from './roles.ts'
import { attribute, type MarkupElement } from './tree.ts'
import { wordsCitation } from './words-citation.ts'

/** Cites a provision of the Code of Federal Regulations: each of its parts is a document. */
export function cfrCitation(provision: CitedProvision, fields: DocumentFields): Citation {
  const { identifier = '', title = 'CFR' } = fields
  const number = titleOf(identifier)
  // A fragment that does not say of which title it is.
  if (number === undefined) return wordsCitation(provision, fields)
  const section = nearest(provision, 'section')
  // `§ 1.1` and `§§ 1.2–1.5` without the sign.
  const own = section?.label.replaceAll(/[§\s[\]]/gu, '').replace(/\.$/, '') ?? ''
  const named =
    partOf(provision) ?? /\bPart (\d+[a-z]?(?:-\d+[a-z]?)?)/.exec(identifier)?.[1] ?? PART_OF_SECTION.exec(own)?.[1]
  const part = nearest(provision, 'part')
  const words = `${number} CFR ${/^parts\b/i.test(part?.label || part?.heading || '') ? 'Parts' : 'Part'} ${named}`
  if (named === undefined) {
    const place = placeOf(provision)
    return { label: `${number} CFR${place}`, document: `${number}-cfr`, title }
  }
  const document = {
    document: `${number}-cfr-${named}`,
    // A file of a subpart or a section has no name of its part, and is no other document.
    title: part === undefined ? words : `${part.heading || title} (${words})`,
    url: `https://www.ecfr.gov/current/title-${number}/part-${named}`,
    act: `cfr:${number}/${named}`,
  }
  // Some parts count their sections otherwise: `Section 1` is no section of part 1.
  if (section !== undefined && PART_OF_SECTION.test(own)) {
    const reference = `${number} CFR ${own}`
    const notes = provision === section || provision.kind === 'section' ? '' : `, ${provision.kind}`
    return { ...document, label: `${reference}${notes}`, reference: `${reference}${notes === ', note' ? ' note' : ''}` }
  }
  return { ...document, label: `${words}${placeOf(provision)}`, ...appendixOf(provision, words) }
}

/** The part of a section's number: `2.101` is of part 2, `102-75.45` of part 102-75. */
const PART_OF_SECTION = /^(\d+[a-z]?(?:-\d+[a-z]?)?)\./

/** Number of the title in `40 CFR Part 261` and in the publisher's `Appendix I to Part 261, Title 40`. */
export function titleOf(identifier: string): string | undefined {
  return /^(\d+) CFR/.exec(identifier)?.[1] ?? /, Title (\d+)$/.exec(identifier)?.[1]
}

function partOf(provision: CitedProvision): string | undefined {
  const part = nearest(provision, 'part')
  if (part === undefined) return undefined
  return (
    /(?:parts?|pt\.?)\s+(\d+[a-z]?(?:[-–]\d+[a-z]?)?)/i.exec(`${part.label} ${part.heading}`)?.[1]?.replace('–', '-') ??
    part.anchor?.match(/^(?:\/us\/cfr\/t\d+\/p)?([\w-]+)$/)?.[1]
  )
}

/** `40 CFR Part 63, Appendix A`. A subpart has appendices with the same letters: those are no such reference. */
function appendixOf(provision: CitedProvision, words: string): Partial<Citation> {
  const appendix = nearest(provision, 'appendix')
  const name = `${appendix?.label} ${appendix?.heading}`.trim()
  const [, letter, subpart] =
    /^(?:Appendix|APPENDIX)\s+((?!TO\b)[A-Z]{1,2}(?:-\d+)?|[IVXL]+|\d+)(?![\w-])(\s+(?:to|TO)\s+(?:Subpart|SUBPART)\b)?/.exec(
      name,
    ) ?? []
  const table =
    /^(?:Table|Figure|Exhibit|Attachment|Supplement)\s+[A-Z\d]+(?:-\d+)?(?:\s+to\s+Subpart\s+[A-Z]+)?/i.exec(name)
  if (table !== null) return { reference: `${words}, ${table[0]}` }
  return letter === undefined || subpart !== undefined ? {} : { reference: `${words}, Appendix ${letter}` }
}

/** `TYPE` of the divisions of the eCFR (eCFR XML user guide), which are elements of the annual CFR. */
export const DIVISIONS: ReadonlyMap<string, string> = new Map(Object.entries(NAMES.divisions))

/** `E` of the publisher's markup: type 51 is raised, 52 lowered, others are bold or italic. */
export function emphasis(element: MarkupElement): Role {
  const type = attribute(element, 'T')
  return type === '51' ? RAISED : type === '52' ? LOWERED : { is: 'inline' }
}

function placeOf({ kind, label, heading, around }: CitedProvision): string {
  if (kind === 'part' || kind === 'document') return ''
  const words =
    [label, heading].find((word) => word !== '') ?? around.find((each) => each.heading !== '')?.heading ?? kind
  return `, ${words.slice(0, 120)}`
}
