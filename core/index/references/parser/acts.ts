import type { ActMention } from './act-mention.ts'
import type { ActAliases } from './aliases.ts'
import { readGermanAbbreviation } from './de.ts'
import { readEuAct } from './eu.ts'
import { readFrenchAct } from './fr.ts'
import type { Designator } from './designators.ts'
import { afterRulebookWord } from './rulebook.ts'
import { isCapitalised, reads, skip, type Token } from './tokens.ts'
import { readUkAct } from './uk.ts'
import { readUsAct, readUsTitleAfter } from './us.ts'

/** Words between a provision and the act after it: `of the`, `der`, `du`, `, (`. */
const LINKS = new Set(
  (
    'of the in under to from within der des dem den das die im nach zur zum von vom du de la le les l ' +
    `d au aux dans , ( ' eu council commission delegated implementing current same retained above`
  ).split(' '),
)
const LINKS_MAX = 7
const NAME_TOKENS_MAX = 14
const LEGAL_NOUNS = new Set(
  (
    'act law code regulation regulations order directive decision rules rulebook convention treaty ' +
    'constitution charter ordinance statute'
  ).split(' '),
)
const NAME_CONNECTORS = new Set(['of', 'and', 'the', 'for', 'on', 'to', 'against', 'in', 'with', '&', ',', '(', ')'])

/** Works that also have sections and articles but are not legislation. */
const OTHER_WORKS = new Set(
  `report reports exam examination book form questionnaire survey article paper study guide manual course play
    film series presentation website handbook brochure application agreement contract lease document newspaper
    magazine game test syllabus thesis dissertation novel story tutorial blog essay newsletter plan album
    curriculum prospectus letter memo memorandum minutes proposal offer policy warehouse building
    berichts berichtes bericht vertrags vertrages vertrag buches buchs buch prufung formulars formular handbuchs
    handbuch zeitschrift klausur romans roman mietvertrags mietvertrages arbeitsvertrags satzung anleitung
    rapport contrat formulaire manuel livre magazine journal examen bail catalogue roman site guide`.split(/\s+/),
)

/** Reads the longest act mention that starts here. */
export function readAct(tokens: readonly Token[], at: number, aliases: ActAliases): ActMention | undefined {
  const alias = aliases.find(tokens, at)
  const named = alias === undefined ? undefined : withRulebookWord(tokens, { ...alias, sections: undefined })
  let longest: ActMention | undefined = named
  for (const mention of [
    readUsAct(tokens, at, aliases),
    readEuAct(tokens, at),
    readUkAct(tokens, at),
    readFrenchAct(tokens, at),
  ]) {
    if (mention !== undefined && mention.end > (longest?.end ?? at)) longest = mention
  }
  return longest
}

function withRulebookWord(tokens: readonly Token[], mention: ActMention): ActMention {
  const end = mention.code === true ? afterRulebookWord(tokens, mention.end) : undefined
  return end === undefined ? mention : { ...mention, end, standing: true }
}

export type ActAfter =
  | { readonly kind: 'act'; readonly mention: ActMention; readonly linked: boolean }
  | { readonly kind: 'other work' }
  | undefined

/**
 * Reads what follows a provision: its act, or a work that is not legislation. `linked`: a word such as `of` or `des`
 * connects them.
 */
export function readActAfter(
  tokens: readonly Token[],
  at: number,
  designator: Designator,
  aliases: ActAliases,
): ActAfter {
  let place = at
  let linked = false
  for (; place <= at + LINKS_MAX; place += 1) {
    const mention = readAct(tokens, place, aliases) ?? readUsTitleAfter(tokens, place)
    if (mention !== undefined && mention.sections === undefined && mention.path === undefined)
      return { kind: 'act', mention, linked }
    if (linked && isOtherWork(tokens, place)) return { kind: 'other work' }
    const link = tokens[place]
    if (link === undefined || !LINKS.has(link.text)) break
    linked ||= link.kind === 'word'
  }
  const german =
    designator.kind === 'sign' || designator.kind === 'article' ? readGermanAbbreviation(tokens, place) : undefined
  if (german !== undefined) return { kind: 'act', mention: german, linked }
  const named = linked && designator.kind !== 'title' ? readNamedAct(tokens, place) : undefined
  return named === undefined ? undefined : { kind: 'act', mention: named, linked }
}

/** `the annual report`, `my lease`: up to two words may precede the noun. */
function isOtherWork(tokens: readonly Token[], at: number): boolean {
  for (let place = at; place <= at + 2; place += 1) {
    const token = tokens[place]
    if (token?.kind !== 'word' || LEGAL_NOUNS.has(token.text)) return false
    if (OTHER_WORKS.has(token.text)) return true
  }
  return false
}

/**
 * Reads the name of an act that no table lists: `the Dangerous Dogs Act 1991`, `Cabinet Decision No. 10`. The corpus
 * does not hold such an act.
 */
function readNamedAct(tokens: readonly Token[], at: number): ActMention | undefined {
  const words: string[] = []
  let end: number | undefined
  let capitals = 0
  let hasNoun = false
  for (let place = at; place < tokens.length && place < at + NAME_TOKENS_MAX; place += 1) {
    const token = tokens[place]
    if (token === undefined) break
    if (isCapitalised(token) && token.kind === 'word') {
      capitals += 1
      hasNoun ||= LEGAL_NOUNS.has(token.text)
      if (hasNoun) end = place + 1
    } else if (place === at || !NAME_CONNECTORS.has(token.text) || (hasNoun && token.kind === 'sign')) break
  }
  if (end === undefined || capitals < 2 || reads(tokens, end + 1, '/')) return undefined
  const numbered = reads(tokens, end, 'no') ? skip(tokens, end + 1, '.') : end
  if (
    tokens[numbered]?.kind === 'number' &&
    (numbered > end || /^(?:1[89]|20)\d\d$/.test(tokens[numbered]?.text ?? ''))
  )
    end = numbered + 1
  for (const token of tokens.slice(at, end)) if (token.kind !== 'sign') words.push(token.text)
  return { act: `name:${words.join('-')}`, end, standing: false, sections: undefined }
}
