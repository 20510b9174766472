import type { ActEntry } from '#core/index/references/layout.ts'
import {
  canonicalReference,
  createActAliases,
  parseReference,
  referencesIn,
  wordTaughtBy,
  type ActAliases,
  type Reference,
} from '#law/citations/parser.ts'
import { isTaught } from '#law/citations/lexer/languages.ts'
import { foldKey } from '#core/identity/fold.ts'
import { memoized } from '#core/platform/memoized.ts'
import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { codePointsOf } from '#law/readers/text.ts'

const REMEMBERED = IMPORT_BOUNDS.rememberedTextsMax

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
 * belongs to the record's act. A provision of another act is ignored. In a language without a table, the word before the
 * number at the end names a provision.
 */
export function createReferenceReader() {
  const common = parserWith(createActAliases([]))
  const parserOf = createVocabularies(parserWith)
  return (act: ActEntry | undefined, written: string, language: string): readonly string[] => {
    const provisions = written.split(';', IMPORT_BOUNDS.referencesPerRecordMax).flatMap((one) => {
      const word = isTaught(language) ? wordTaughtBy(one) : undefined
      const provision =
        provisionOf(act, common(one)) ??
        (act && provisionOf(act, parserOf(act)(one))) ??
        (word && provisionOf(act, parserOf(act ?? { id: '', aliases: [] }, word)(one)))
      return provision === undefined ? [] : [provision]
    })
    if (provisions.length > 0) return [...new Set(provisions)].sort()
    return act === undefined ? [] : [act.id]
  }
}

function parserWith(vocabulary: ActAliases) {
  return memoized((one) => (one.trim() === '' ? undefined : parseReference(one, vocabulary)), REMEMBERED)
}

/** Says why no question can name a record by the reference that its source writes, or returns undefined. */
export function createNameCheck(): (record: {
  readonly act: ActEntry | undefined
  readonly language?: string
  readonly label: string
  readonly reference: string | undefined
  readonly references: readonly string[]
}) => string | undefined {
  const namedOf = createVocabularies((vocabulary) =>
    memoized((form) => {
      const { certain, ifHeld } = referencesIn(form, vocabulary)
      return [...certain, ...ifHeld].map((each) => canonicalReference(each.reference))
    }, REMEMBERED),
  )
  const romanOf = new Map<string, boolean>()
  return ({ act, language, label, reference, references }) => {
    if (reference === undefined) return undefined
    const provisions = references.filter((each) => each.includes('#'))
    // `section I` and `section 1` of one act, `Article únic` and `Article 1`: a question means the one or the other.
    const [, number = ''] = /^(?:section|art\S*) ([IVXL]+|\d{1,2}|[uú]nic[oa]?|unique)$/iu.exec(reference) ?? []
    const [key = '', isRoman] = [provisions[0], /^\p{L}/u.test(number)]
    if (number !== '' && romanOf.size < REMEMBERED) romanOf.set(key, romanOf.get(key) ?? isRoman)
    if (number !== '' && (romanOf.get(key) ?? isRoman) !== isRoman)
      return `no question can name it: "${reference}" and the same number written otherwise are two provisions of its act`
    const forms = [
      label,
      reference,
      ...(act?.aliases ?? []).flatMap((name) => [`${reference} ${name}`, `${reference} of ${name}`]),
    ]
    const word = language !== undefined && isTaught(language) ? /#([^-/]+)-/.exec(provisions[0] ?? '')?.[1] : undefined
    const isAsked = (form: string): boolean =>
      act === undefined || namedOf(act, word)(form).some((each) => provisions.includes(each))
    return provisions.length > 0 && forms.some(isAsked)
      ? undefined
      : `no question can name it: "${reference}" names no provision of its act`
  }
}

/** Returns what is made of an act's names and a word for its provisions. That of some acts is remembered. */
function createVocabularies<Made>(make: (vocabulary: ActAliases) => Made): (act: ActEntry, word?: string) => Made {
  const madeOf = memoized((names) => {
    const [word = '', id = '', ...aliases] = names.split('\0')
    const entries = [id, ...aliases].map((alias) => [alias, id] as const)
    return make(createActAliases(entries, { designators: word === '' ? [] : [word] }))
  }, IMPORT_BOUNDS.vocabulariesMax)
  return ({ id, aliases }, word = '') => madeOf([word, id, ...aliases].join('\0'))
}

function provisionOf(act: ActEntry | undefined, parsed: Reference | undefined): string | undefined {
  if (parsed === undefined || parsed.path.length === 0) return undefined
  // An unlisted name in the label of a known act is a name of that act.
  const isOwn = act === undefined || parsed.act === undefined || parsed.act === act.id || parsed.act.startsWith('name:')
  if (!isOwn) return undefined
  const canonical = canonicalReference({ act: act?.id ?? parsed.act, path: parsed.path })
  return codePointsOf(canonical) <= IMPORT_BOUNDS.referenceCharactersMax ? canonical : undefined
}
