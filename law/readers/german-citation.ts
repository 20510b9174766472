import { slugOf } from '#law/readers/heading-anchors.ts'
import type { Citation, DocumentFields, ReadDate } from './document.ts'
import { dated, dayInNumbers, type CitedProvision } from './format.ts'
import { aliasOf, wordsCitation } from './words-citation.ts'

/**
 * Says from when a text of German federal law is, by the words about its amendments: the latest act that they name;
 * without one it is the text as enacted.
 */
export function lastAmendment(words: string, signed: string | undefined): ReadDate | undefined {
  const days = [...words.matchAll(/\bv\. (\d{1,2}\.\s?\d{1,2}\.\s?\d{4})/g)].flatMap(
    ([, day = '']) => dayInNumbers(day.replaceAll(/\s/g, '')) ?? [],
  )
  const last = signed === undefined ? undefined : days.toSorted().at(-1)
  return dated(last, 'last-amendment') ?? dated(signed, 'enactment')
}

/** Cites a provision of German federal law by the abbreviation of its act: `§ 433 BGB`, `Art 229 § 5 EGBGB`. */
export function germanCitation(provision: CitedProvision, fields: DocumentFields): Citation {
  const code =
    fields.jurisdiction === 'DE' ? codeOf({ ...fields, identifier: fields.names?.[0] ?? fields.identifier }) : undefined
  if (code === undefined) return wordsCitation(provision, fields)
  const act = `de:${slugOf(code).replaceAll('-', '')}`
  // The publisher marks what is repealed: `(XXXX) §§ 3 bis 6`.
  const label = provision.label.replace(/^\([Xx-]+\)\s*/, '')
  const names = [...new Set([code, codeOf(fields), ...(fields.names ?? [])])].flatMap((name) => name ?? [])
  const aliases = names.map(aliasOf).join(', ')
  const cited = { ...wordsCitation({ ...provision, label }, { ...fields, title: code }, act), aliases }
  const number = /^(?:§|Art)[^\d]*(\d+(?:\s?[a-z](?!\p{L}))?)/u.exec(label)?.[1]
  if (number === undefined) return cited
  const own = `${label.startsWith('§') ? '§' : 'Art.'} ${number.replace(/\s/, '')}`
  // Repealed provisions under one heading: `§§ 3 bis 6`.
  const all = /\s(?:bis|und)\s/.test(label) ? label : own
  const article = provision.around.find((each) => each.label.startsWith('Art'))
  if (article === undefined || !label.startsWith('§'))
    return { ...cited, label: `${all} ${code}`, reference: `${own} ${code}` }
  // Each article counts its sections anew.
  const inArticle = `${article.label} ${all} ${code}`
  return { ...cited, label: inArticle, reference: `${article.label} ${own} ${code}` }
}

/** A year after an abbreviation tells it from an older act, unless the act is of that year by its title. */
function codeOf({ identifier, title = '' }: DocumentFields): string | undefined {
  const year = /\s(\d{4})$/.exec(identifier ?? '')?.[1]
  return year === undefined || title.includes(year) ? identifier : identifier?.slice(0, -year.length).trim()
}
