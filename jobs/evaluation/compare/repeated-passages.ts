import type { PassageEntry, VersionDifferences } from '#core/db/version-differences.ts'
import { foldKey } from '#core/identity/fold.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { sha256 } from '#core/platform/digest.ts'
import { COMPARISON_BOUNDS } from './bounds.ts'

/** Finds the passages beside which a candidate puts another text under the same citation. */
export type RepeatedPassages = ReturnType<typeof createRepeatedPassages>

type Named = Pick<PassageRecord, 'citation' | 'references' | 'document' | 'metadata' | 'text'>

/**
 * The names under which a reader finds a passage. `within` its document and language: its citation label and the
 * provisions whose text it holds. `anywhere`, in every document: anchor, label with URL or title, provisions of an act,
 * and the whole text. Languages that differ in the region alone count as one, and a translation has names of its own.
 */
export function namesOf({ citation, references, document, metadata, text }: Named) {
  const label = foldKey(citation.label)
  const scope = `${primaryLanguage(metadata.language)} ${foldKey(metadata.jurisdiction)}`
  const words = wordsOf(text)
  const long = words.split(' ').length >= COMPARISON_BOUNDS.repeatedTextWordsMin
  return {
    // An act alone names no provision: each passage whose label names none has it.
    within: [
      `label ${label}`,
      ...references.filter((one) => one.includes('#')).map((reference) => `reference ${foldKey(reference)}`),
    ],
    anywhere: [
      `${scope} anchor ${foldKey(citation.source_anchor)}`,
      `${scope} url ${foldKey(document.canonical_url)} ${label}`,
      `${scope} title ${foldKey(document.title)} ${label}`,
      ...references.flatMap((reference) =>
        isProvisionOfAct(reference) ? [`${scope} reference ${foldKey(reference)}`] : [],
      ),
      ...(long ? [`${scope} text ${sha256(words).toString('base64')}`] : []),
    ],
  }
}

/** `en` of `en-GB`. */
export function primaryLanguage(language: string): string {
  return foldKey(language).split('-', 1)[0] ?? ''
}

/** Whether a canonical reference names a provision and its act; one without an act may mean any. */
export function isProvisionOfAct(reference: string): boolean {
  return reference.includes('#') && !reference.startsWith('*')
}

/** Texts that differ only in case, width, punctuation or white space read as one. */
function wordsOf(text: string): string {
  const folded = foldKey(text)
  const words = folded.replace(/[^\p{L}\p{N}]+/gu, ' ').trim()
  return words === '' ? folded : words
}

export function createRepeatedPassages(differences: VersionDifferences) {
  // Many added passages may have one name, so that each would search the same passages in vain.
  const first = new Map<string, PassageEntry | undefined>()
  let scope = ''
  function firstUnder(held: Lookup, name: string, added: PassageEntry): PassageEntry | undefined {
    const own = JSON.stringify([added.document, added.language])
    if (own !== scope || first.size >= COMPARISON_BOUNDS.repeatedNamesCachedMax) first.clear()
    scope = own
    const key = JSON.stringify([name, added.day, added.until])
    if (!first.has(key)) first.set(key, held(name, added, null))
    return first.get(key)
  }
  function other(held: Lookup, name: string, added: PassageEntry): PassageEntry | undefined {
    const found = firstUnder(held, name, added)
    return found !== undefined && isProvisionOf(found, added) ? held(name, added, added.provision) : found
  }
  return {
    /**
     * @returns a passage of the active version with a name of the added one: another provision, in force at the same
     * time. Undefined if there is none.
     */
    original(added: PassageEntry, passage: PassageRecord): PassageEntry | undefined {
      const { within, anywhere } = namesOf(passage)
      const lookups = [
        ...within.map((name) => [differences.heldUnder, name] as const),
        ...anywhere.map((name) => [differences.heldAnywhere, name] as const),
      ]
      for (const [held, name] of lookups) {
        const found = other(held, name, added)
        if (found !== undefined) return found
      }
      return undefined
    },
  }
}

type Lookup = VersionDifferences['heldAnywhere']

function isProvisionOf(one: PassageEntry, { document, language, provision }: PassageEntry): boolean {
  return one.document === document && one.language === language && one.provision === provision
}
