import { foldKey } from '#core/identity/fold.ts'
import { memoized } from '#core/platform/memoized.ts'
import type { Citation, DocumentFields } from './document.ts'
import { numberIn, type CitedProvision } from './format.ts'
import NAMES from './names/words.json' with { type: 'json' }
import { ordinalIn } from './provision-marks.ts'

/** Words by which a kind of provision is cited where its number alone does not say it. */
const WORDS: ReadonlyMap<string, string> = new Map(Object.entries(NAMES.cited))
const KEYS_MAX = 1_000
const keyOf = memoized(foldKey, KEYS_MAX)
/** A longer title is cut where a provision is cited by it. */
export const CITED_TITLE_CHARACTERS_MAX = 160

/**
 * Cites a provision by its document's title and its own number: `Ivory Act 2018, section 5`. A number that says what it
 * is (`§ 5`, `Artikel 3`) is taken as it is.
 */
export function wordsCitation(provision: CitedProvision, fields: DocumentFields, act?: string): Citation {
  const name = (fields.title ?? fields.identifier ?? '').slice(0, CITED_TITLE_CHARACTERS_MAX).trim()
  const place = placeOf(provision)
  // A page repeats its title as its first heading.
  const own = keyOf(place) === keyOf(name) ? '' : place
  const outer = provision.around
    .filter(({ kind }) => ['annex', 'schedule', 'section', 'article'].includes(kind))
    .map((each) => placeOf({ ...each, around: [] }))
  const known = act ?? (name === '' ? undefined : `rulebook:${slugOf(fields.identifier ?? name)}`)
  const reference = referenceTo(provision)
  return {
    label: [name, ...outer.toReversed(), own].filter((part) => part !== '').join(', '),
    ...(name === '' ? {} : { name }),
    ...(known === undefined ? {} : { act: known, aliases: aliasOf(name) }),
    ...(reference === undefined ? {} : { reference }),
  }
}

/** Containers that count their provisions anew, which are cited with them: `Schedule 1, paragraph 10`. */
const COUNTING_ANEW = ['annex', 'schedule']
/** Kinds that have a number, or are the only one. */
const NUMBERED = new Set([...COUNTING_ANEW, 'article', 'recital'])
/** `ANHÄNGE`, `ANNEX TO THE RESOLUTION`: without a number of its own. */
const ONLY = /^(?:an(?:nex(?:es)?|hang|hänge|lagen?|exos?)|schedules?)(?:\s+(?![IVXLC]+\b|[A-Z]\b)\p{L}.*)?$/iu

/**
 * The words by which a question names a provision; those of containers are in one language for all. None within a
 * section or an article.
 */
function referenceTo(provision: CitedProvision): string | undefined {
  const { around } = provision
  const outer = around.filter((each) => ['section', 'article', ...COUNTING_ANEW].includes(each.kind))
  if (outer.some((each) => !COUNTING_ANEW.includes(each.kind))) return undefined
  const named = [...outer.toReversed(), provision].map(({ kind, label, heading }) => {
    // `ANHANG XI` may stand as a heading, and an act may have one annex without a number.
    const ofHeading = /^\p{L}+\s([IVXLC\d]+)$/u.exec(heading)?.[1] ?? ''
    const number = label !== '' || !COUNTING_ANEW.includes(kind) ? (ordinalIn(label) ?? numberIn(label)) : ofHeading
    const isOnly = ONLY.test(label || heading)
    const word = WORDS.get(kind) ?? ''
    return word !== '' && (number !== '' || isOnly) ? `${word} ${number}`.trim() : ''
  })
  // `Artículo único`, `Primera`: its own words, of which the import says whether they name it.
  const isOwn = named.at(-1) === '' && NUMBERED.has(provision.kind)
  if (named.includes(''))
    return isOwn && (outer.length === 0 || !/^art/i.test(provision.label)) ? placeOf(provision) : undefined
  const [first = '', second] = named
  if (second !== undefined && !first.includes(' ')) return `${second} of the ${first}`
  // `§§ 14 bis 20`, `SEC. 2`: the publisher's own words, where they say the kind.
  const isByNumber =
    outer.length > 0 || COUNTING_ANEW.includes(provision.kind) || ordinalIn(provision.label) !== undefined
  if (isByNumber) return named.join(', ')
  // `2 a §`, `Art. 2 a`, `Article 4 LA`
  const place = placeOf(provision).replace(/^(\d.*?)\.?\s?§$/u, '§ $1')
  return place.replace(/(\d) ([a-z]|[A-Z]{2})$/u, '$1$2')
}

/** An alias is a name that a question uses; commas separate aliases. */
export function aliasOf(name: string): string {
  return name.replaceAll(',', ' ').replaceAll(/\s+/g, ' ').slice(0, 180).trim()
}

function slugOf(identifier: string): string {
  return keyOf(identifier)
    .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 100)
}

function placeOf({ kind, label, heading }: CitedProvision): string {
  if (kind === 'document') return ''
  const number = numberIn(label)
  const saysKind = /[§\p{L}]{3,}|§|\bArt\b/u.test(label.replace(number, ''))
  if (label !== '' && saysKind) return label.replace(/[.:—–-]+$/u, '').trim()
  if (kind === 'heading' && heading !== '') return `${label} ${heading}`.trim().slice(0, CITED_TITLE_CHARACTERS_MAX)
  if (number !== '') return `${WORDS.get(kind) ?? kind} ${number}`.trim()
  return (heading || label || (kind === 'document' ? '' : kind)).slice(0, CITED_TITLE_CHARACTERS_MAX)
}
