import { LRUCache } from 'lru-cache'
import type { ActEntry } from '#core/index/references/layout.ts'
import {
  canonicalReference,
  createActAliases,
  parseReference,
  referencesIn,
  type ActAliases,
} from '#law/citations/parser.ts'
import { foldKey } from '#core/identity/fold.ts'
import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { codePointsOf } from '#law/readers/text.ts'

/** Scheme and name, as in `celex:32016R0679`, `cfr:12/1003`, `rulebook:aml`. */
const ACT_ID = /^[a-z][a-z0-9]*:[^\s\p{Cc}#*]+$/u

/**
 * Returns an act id in canonical form, or undefined for anything else. Codes of rulebooks are written in either case,
 * and some with spaces.
 */
export function actIdOf(written: string): string | undefined {
  const id = /^rulebook:/iu.test(written) ? foldKey(written).replaceAll(' ', '-') : written
  return ACT_ID.test(id) && codePointsOf(id) <= IMPORT_BOUNDS.actIdCharactersMax ? id : undefined
}

/** Parses aliases: one, or several separated by commas. */
export function aliasesOf(written: string): string[] {
  return [...new Set(written.split(',').map((alias) => alias.trim()))].filter((alias) => alias !== '').sort()
}

/**
 * Returns a function that gives the canonical forms of the provisions whose text a record of an act holds, from one text
 * that names them, separated by semicolons. Where it names none, the act stands alone. A provision without an act
 * belongs to the record's act. A provision of another act is ignored.
 */
export function createReferenceReader(): (act: ActEntry | undefined, written: string) => readonly string[] {
  const common = createActAliases([])
  const vocabularyOf = createVocabularies()
  return (act, written) => {
    const provisions = written.split(';', IMPORT_BOUNDS.referencesPerRecordMax).flatMap((one) => {
      const provision =
        provisionOf(act, one, common) ?? (act === undefined ? undefined : provisionOf(act, one, vocabularyOf(act)))
      return provision === undefined ? [] : [provision]
    })
    if (provisions.length > 0) return [...new Set(provisions)].sort()
    return act === undefined ? [] : [act.id]
  }
}

/** Says why no question can name a record by the reference that its source writes, or returns undefined. */
export function createNameCheck(): (record: {
  readonly act: ActEntry | undefined
  readonly label: string
  readonly reference: string | undefined
  readonly references: readonly string[]
}) => string | undefined {
  const vocabularyOf = createVocabularies()
  return ({ act, label, reference, references }) => {
    if (reference === undefined) return undefined
    const provisions = references.filter((each) => each.includes('#'))
    const aliases = act === undefined ? undefined : vocabularyOf(act)
    const forms = [
      label,
      reference,
      ...(act?.aliases ?? []).flatMap((name) => [`${reference} ${name}`, `${reference} of ${name}`]),
    ]
    const isAsked = (form: string): boolean => {
      const { certain, ifHeld } = referencesIn(form, aliases ?? createActAliases([]))
      return [...certain, ...ifHeld].some((each) => provisions.includes(canonicalReference(each.reference)))
    }
    const isNamed = provisions.length > 0 && (act === undefined || forms.some(isAsked))
    return isNamed ? undefined : `no question can name it: "${reference}" names no provision of its act`
  }
}

/** Returns the alias table of one act, without the common names. The most recently used tables are cached. */
function createVocabularies(): (act: ActEntry) => ActAliases {
  const kept = new LRUCache<string, ActAliases>({ max: IMPORT_BOUNDS.vocabulariesMax })
  return ({ id, aliases }) => {
    const key = JSON.stringify([id, aliases])
    const vocabulary = kept.get(key) ?? createActAliases([id, ...aliases].map((alias) => [alias, id] as const))
    kept.set(key, vocabulary)
    return vocabulary
  }
}

function provisionOf(act: ActEntry | undefined, written: string, vocabulary: ActAliases): string | undefined {
  const parsed = written.trim() === '' ? undefined : parseReference(written, vocabulary)
  if (parsed === undefined || parsed.path.length === 0) return undefined
  // An unlisted name in the label of a known act is a name of that act.
  const isOwn = act === undefined || parsed.act === undefined || parsed.act === act.id || parsed.act.startsWith('name:')
  if (!isOwn) return undefined
  const canonical = canonicalReference({ act: act?.id ?? parsed.act, path: parsed.path })
  return codePointsOf(canonical) <= IMPORT_BOUNDS.referenceCharactersMax ? canonical : undefined
}
