import type { Citation, DocumentFields, ReadDate } from './document.ts'
import { dayInWords, numberIn } from './format.ts'
import type { CitedProvision } from './format.ts'
import { wordsCitation } from './words-citation.ts'

/** Cites a provision of an act of the European Union, whose id is its CELEX number. */
export function euCitation(provision: CitedProvision, fields: DocumentFields): Citation {
  const celex = /^\d\d{4}[A-Z]{1,2}\d{4}$/.exec(fields.identifier ?? '')?.[0]
  const cited = wordsCitation(provision, { ...fields, title: shortTitle(fields.title) }, celex && `celex:${celex}`)
  if (provision.kind === 'article' && celex !== undefined) {
    const number = numberIn(provision.label)
    if (number !== '') return { ...cited, reference: `Article ${number}` }
  }
  if (provision.kind === 'recital' && celex !== undefined) {
    const number = numberIn(provision.label)
    if (number !== '') return { ...cited, reference: `recital ${number}` }
  }
  return cited
}

/** The kind and number of the act, without what it is about. */
function shortTitle(title: string | undefined): string | undefined {
  const [short] = /^.{0,120}?\d{1,4}\/\d{2,4}(?:\/\p{Lu}{2,4})?/u.exec(title ?? '') ?? []
  return short ?? title
}

/** The day from which the text says, once and in English, that it applies or is in force. */
export function applicationIn(text: string): ReadDate | undefined {
  const found = [...text.matchAll(/It shall (?:apply|enter into force) (?:from|on) (\d{1,2} \p{L}+ \d{4})/gu)]
  const days = new Set(found.map(([, written]) => dayInWords(written)))
  const [day] = days
  return days.size !== 1 || day === undefined ? undefined : { day, rule: 'application' }
}
