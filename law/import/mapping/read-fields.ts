import { alternativesOf, placeholdersOf, templateOf, type Mapping, type Rule } from './mapping.ts'

/** Returns the names of the metadata fields that a mapping reads in any rule, or lists as ignored. */
export function readFieldsOf(mapping: Mapping): ReadonlySet<string> {
  const { values, fields, skip_patterns, ignored_fields } = mapping
  const rules = [...Object.values(values), ...Object.values(fields)].filter((rule) => rule !== undefined)
  const templates = [...rules.flatMap(alternativesOf).map(templateOf), ...skip_patterns.map(({ on }) => on)]
  const read = templates.flatMap(placeholdersOf).flatMap(metadataFieldOf)
  return new Set([...read, ...ignored_fields])
}

/** A field that a record, or the front matter of its file, states. */
export interface StatedField {
  /** Undefined where it is neither a scalar nor a list of scalars. */
  readonly text: string | undefined
  /** Line of the front matter. */
  readonly line?: number
}

/**
 * Yields what a record states that neither a rule nor the list of ignored fields names, itself or what holds it.
 * @param stated of an object its own entry, without a text, then those of its fields, which stand for it.
 */
export function* unreadFields(
  stated: ReadonlyMap<string, StatedField>,
  read: ReadonlySet<string>,
): Generator<readonly [name: string, text: string | undefined]> {
  let held: string | undefined
  for (const [name, { text }] of stated) {
    if (held !== undefined && !name.startsWith(`${held}.`)) yield [held, undefined]
    held = undefined
    if (!isUnread(name, read)) continue
    if (text === undefined) held = name
    else yield [name, text]
  }
  if (held !== undefined) yield [held, undefined]
}

function isUnread(name: string, read: ReadonlySet<string>): boolean {
  for (let at = name.length; at !== -1; at = name.lastIndexOf('.', at - 1)) {
    if (at === 0) break
    if (read.has(name.slice(0, at))) return false
  }
  return true
}

/** A name as messages show it: it comes from a source. */
export function shownName(name: string): string {
  return `"${name.slice(0, 100)}"`
}

/** Returns the placeholders on which a rule depends, through named values too, without names of values. */
export function sourcesOf(rule: Rule, mapping: Mapping): readonly string[] {
  const found = new Set<string>()
  const passed = new Set<string>()
  const waiting = alternativesOf(rule).flatMap((alternative) => placeholdersOf(templateOf(alternative)))
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (passed.has(name)) continue
    passed.add(name)
    const value = name.startsWith('values.') ? mapping.values[name.slice('values.'.length)] : undefined
    if (value === undefined) found.add(name)
    else waiting.push(...alternativesOf(value).flatMap((alternative) => placeholdersOf(templateOf(alternative))))
  }
  return [...found]
}

const METADATA = 'metadata.'

export function metadataFieldOf(placeholder: string): readonly string[] {
  return placeholder.startsWith(METADATA) ? [placeholder.slice(METADATA.length)] : []
}

/**
 * Words of field names that state an end or a status, in English, German and French; a name is compared word by word,
 * in lower case and without accents. A stem stands for every word that it starts.
 */
const END_WORDS: ReadonlySet<string> = new Set(
  (
    'end ends ended ending to until till thru through valid validity status void stale draft suspended pending inactive active obsolete ' +
    'historic historical superseded force former bis ende gueltig gultig kraft status fin jusqu etat vigueur valable estado vigencia vigente situacion stato vigore stand'
  ).split(' '),
)
const END_STEMS =
  /^(?:expir|repeal|revok|revoc|withdr|supersed|replac|ceas|terminat|annul|abrog|rescind|discontinu|sunset|lapse|aufgehoben|aufheb|ausserkraft|auserkraft|ablauf|abgelauf|ungultig|ungueltig|ersetzt|perim|caduc|remplac)/

/** Texts of a field that state that a text is no longer law. */
const ENDED =
  /^(?:repealed|revoked|withdrawn|superseded|expired|ended|lapsed|annulled|rescinded|obsolete|historic(?:al)?|(?:no longer|not) in force|aufgehoben|ausser kraft|abroge|perime|derogad[ao]|abrogat[ao])e?$/

/** True where the name or the text of a field says that it may state the end or the status of a text. */
export function looksLikeEnd(name: string, text: string | undefined): boolean {
  const words = wordsOf(name)
  if (words.some((word) => END_WORDS.has(word) || END_STEMS.test(word))) return true
  // A list, or fields within one: `[repealed]`, `{status: repealed}`.
  const stated = text === undefined || text.length > 200 ? [] : text.split(/[{}[\],:;]/)
  return stated.some((each) => each.length <= 60 && ENDED.test(wordsOf(each).join(' ')))
}

/** Splits `effectiveTo`, `effective_to` and `Effective-To` into the same words. */
function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .normalize('NFKD')
    .replaceAll('ß', 'ss')
    .replaceAll(/[\p{M}\p{Cf}]/gu, '')
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .filter((word) => word !== '')
}

/** Returns the known name that is nearest to a name: the end for what looks like one, else by edit distance. */
export function nearestName(name: string, known: ReadonlySet<string>): string | undefined {
  if (looksLikeEnd(name, undefined) && known.has('effective_to')) return 'effective_to'
  let [nearest, least]: [string | undefined, number] = [undefined, Infinity]
  for (const each of known) {
    const distance = editDistance(wordsOf(name).join('_'), wordsOf(each).join('_'))
    if (distance < least) [nearest, least] = [each, distance]
  }
  return nearest
}

/** Levenshtein distance of the first 60 units of two texts. */
function editDistance(a: string, b: string): number {
  const [from, to] = [a.slice(0, 60), b.slice(0, 60)]
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= to.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
