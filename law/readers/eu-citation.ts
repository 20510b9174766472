import type { Citation, DocumentFields, ReadDate } from './document.ts'
import { shortTitle } from './celex.ts'
import { dayInWords, type CitedProvision } from './format.ts'
import { wordsCitation } from './words-citation.ts'

/** Cites a provision of an act of the European Union, whose id is its CELEX number. */
export function euCitation(provision: CitedProvision, fields: DocumentFields): Citation {
  const celex = /^\d\d{4}[A-Z]{1,2}\d{4}$/.exec(fields.identifier ?? '')?.[0]
  const title = /^[A-Z]{3,4}\(\d{4}\) \d/.test(fields.identifier ?? '')
    ? fields.identifier
    : fields.title && shortTitle(fields.title)
  return wordsCitation(provision, { ...fields, title }, celex && `celex:${celex}`)
}

/** The day from which the text says, once and in English, that it applies or is in force. */
export function applicationIn(text: string): ReadDate | undefined {
  const found = [...text.matchAll(/It shall (?:apply|enter into force) (?:from|on) (\d{1,2} \p{L}+ \d{4})/gu)]
  const days = new Set(found.map(([, written]) => dayInWords(written)))
  const [day] = days
  return days.size !== 1 || day === undefined ? undefined : { day, rule: 'application' }
}
