import type { Citation, DocumentFields } from './document.ts'
import { nearest } from './format.ts'
import type { CitedProvision } from './format.ts'

/** Cites a provision of the Code of Federal Regulations: each of its parts is a document. */
export function cfrCitation(provision: CitedProvision, { identifier = '', title = 'CFR' }: DocumentFields): Citation {
  const number = /^(\d+) CFR/.exec(identifier)?.[1] ?? ''
  const section = nearest(provision, 'section')
  const named = partOf(provision) ?? /CFR Part (\w+)/.exec(identifier)?.[1]
  const partHeading = nearest(provision, 'part')?.heading
  if (named === undefined) {
    const place = placeOf(provision)
    return { label: `${number} CFR${place}`, document: `${number}-cfr`, title }
  }
  const document = {
    document: `${number}-cfr-${named}`,
    title: `${partHeading || title} (${number} CFR Part ${named})`,
    url: `https://www.ecfr.gov/current/title-${number}/part-${named}`,
    act: `cfr:${number}/${named}`,
  }
  const own = sectionNumber(section?.label ?? '')
  if (section !== undefined && own !== '') {
    const reference = `${number} CFR ${own}`
    const notes = provision === section || provision.kind === 'section' ? '' : `, ${provision.kind}`
    return { ...document, label: `${reference}${notes}`, reference }
  }
  return {
    ...document,
    label: `${number} CFR Part ${named}${placeOf(provision)}`,
    ...appendixOf(provision, number, named),
  }
}

/** `§ 1.1` and `§§ 1.2–1.5` without the sign. */
function sectionNumber(label: string): string {
  return label.replaceAll(/[§\s[\]]/gu, '').replace(/\.$/, '')
}

function partOf(provision: CitedProvision): string | undefined {
  const part = nearest(provision, 'part')
  if (part === undefined) return undefined
  return (
    /(?:parts?|pt\.?)\s+(\d+[a-z]?)/i.exec(`${part.label} ${part.heading}`)?.[1] ??
    part.anchor?.match(/^(?:\/us\/cfr\/t\d+\/p)?(\w+)$/)?.[1]
  )
}

function appendixOf(provision: CitedProvision, number: string, part: string): Partial<Citation> {
  const appendix = nearest(provision, 'appendix')
  const letter = /appendix\s+([A-Z]{1,2}|\d+)\b/i.exec(`${appendix?.label} ${appendix?.heading}`)?.[1]
  return letter === undefined ? {} : { reference: `${number} CFR Part ${part}, Appendix ${letter}` }
}

function placeOf({ kind, label, heading, around }: CitedProvision): string {
  if (kind === 'part' || kind === 'document') return ''
  const words =
    [label, heading].find((word) => word !== '') ?? around.find((each) => each.heading !== '')?.heading ?? kind
  return `, ${words.slice(0, 120)}`
}
