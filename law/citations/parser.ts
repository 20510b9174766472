import { resolveCitations } from '#law/citations/antecedents/resolve.ts'
import { readAttachment } from '#law/citations/extract/attachment.ts'
import { readNumberFirst, passSource, readActFirst, readUnresolvedFirst } from '#law/citations/extract/act-first.ts'
import { readPartFirst, readProvision } from '#law/citations/extract/provision.ts'
import { readShortForm } from '#law/citations/extract/short-form.ts'
import { readCjkArticle } from '#law/citations/extract/cjk.ts'
import { rulebookPath, underRulebook } from '#law/citations/grammars/rulebook.ts'
import { underUsAct } from '#law/citations/grammars/us.ts'
import { lex, type TokenStream } from '#law/citations/lexer/tokens.ts'
import { readAct } from '#law/citations/names/acts.ts'
import type { ActAliases } from '#law/citations/names/aliases.ts'
import { familyOf, type Citation, type ExplicitReference, type Reading, type Reference } from './citation.ts'

export { type ActAliases, createActAliases, namesOfAct } from './names/aliases.ts'
export { wordTaughtBy } from './provisions/designators.ts'
export { ancestorsOf, canonicalReference, type ExplicitReference, type Reference } from './citation.ts'

/** Further references of a query are ignored. */
const EXPLICIT_REFERENCES_MAX = 100
/** A label names one provision, perhaps after its act and its part. */
const LABEL_CITATIONS_MAX = 8
const CANONICAL = /^([a-z]{2,16}:[^\s#/][^\s#]*|\*)(?:#([^\s#]+))?$/

/**
 * Returns the provisions and acts that a query cites, in time linear in its length. The stages are: tokens (`lexer`) →
 * citations, found from left to right by `provisions`, `grammars` and `names` → what they refer back to (`antecedents`).
 * Each item of a list and each end of a range is one reference. Publishers do not number sentences, subparagraphs and
 * alinéas, so these belong to the text of a reference, never to its path. A provision without an act takes the act of
 * its list, else the only act in the query if that act has such provisions. A provision left without an act counts only
 * if it is unambiguous: `§`, `Rule 6.5.2`, `Article 6`, `section 5(a)`.
 */
export function referencesIn(query: string, aliases: ActAliases) {
  const tokens = lex(query, aliases.designators)
  const found = findCitations(tokens, aliases, EXPLICIT_REFERENCES_MAX)
  const { certain, ifHeld } = resolveCitations(found, tokens, aliases)
  const written = (citation: Citation): ExplicitReference => {
    const start = tokens.get(citation.from)?.start ?? 0
    const end = tokens.get(citation.to - 1)?.end ?? start
    return { text: query.slice(start, end), start, end, reference: referenceOf(citation) }
  }
  return { certain: certain.map(written), ifHeld: ifHeld.map(written) }
}

/** Returns the reference in the numbering scheme of the act's family. */
function referenceOf({ act, kind, path }: Citation): Reference {
  const family = act === undefined ? undefined : familyOf(act)
  if (family === 'rulebook' || (act === undefined && kind === 'rule')) return { act, path: underRulebook(path) }
  const under = act !== undefined && family === 'us' ? underUsAct(act, path) : { act, path }
  const isComment = kind === 'comment' && (act === undefined || family === 'us')
  return isComment ? { ...under, path: ['comment', ...under.path] } : under
}

/** The act that a name means, where the whole name is one of an act. */
export function actNamed(name: string, aliases: ActAliases): string | undefined {
  const tokens = lex(name)
  const found = aliases.find(tokens, 0)
  return found?.end === tokens.length ? found.act : undefined
}

/**
 * Returns the reference of a citation label or of a publisher's identifier: `12 CFR 1003.2(g)(1)`, `celex:32016R0679
 * art 6(1)(f)`, `BGB § 433`, `COBS 23.6.Guidance.2.`, an ELI, or a canonical form. Of several references it is the most
 * exact one with an act. Undefined if there is none.
 */
export function parseReference(label: string, aliases: ActAliases): Reference | undefined {
  const trimmed = label.trim()
  const [, act, path] = CANONICAL.exec(trimmed) ?? []
  if (act !== undefined) return ofCanonical(act, path, aliases)
  const tokens = lex(trimmed, aliases.designators)
  const mention = readAct(tokens, 0, aliases)
  if (mention === undefined || familyOf(mention.act) !== 'rulebook') return mostExact(trimmed, aliases)
  const after = tokens.get(mention.end - 1)?.end ?? 0
  const rules = rulebookPath(trimmed.slice(after))
  const exact = rules === undefined || rules.length === 0 ? mostExact(trimmed, aliases) : undefined
  const isRule = rules !== undefined && exact?.act !== mention.act
  return isRule ? { act: mention.act, path: underRulebook(rules) } : exact
}

function ofCanonical(act: string, parts: string | undefined, aliases: ActAliases): Reference | undefined {
  const path = (parts ?? '').split('/').filter((part) => part !== '')
  if (act === '*') return path.length === 0 ? undefined : { act: undefined, path }
  const celex = act.startsWith('celex:') ? mostExact(act, aliases)?.act : undefined
  return { act: celex?.startsWith('celex:') === true ? celex : act, path }
}

function mostExact(label: string, aliases: ActAliases): Reference | undefined {
  const tokens = lex(label, aliases.designators)
  const { certain, all } = resolveCitations(findCitations(tokens, aliases, LABEL_CITATIONS_MAX), tokens, aliases)
  // A label that holds nothing else is surely a name: `SEC. 2`, `recital 26`, `Anlage 2`.
  const whole = all.filter(
    ({ from, to, path }) => from === 0 && path.length > 0 && tokens.skip(to, '.') >= tokens.length,
  )
  const exactness = ({ act, path }: Reference): number => (act === undefined ? 0 : 1000) + path.length
  const references = (certain.length > 0 ? certain : whole).map(referenceOf)
  return references.toSorted((a, b) => exactness(b) - exactness(a))[0]
}

/** Finds the citations of a text, token by token, in order and without overlap. */
function findCitations(tokens: TokenStream, aliases: ActAliases, max: number): readonly Citation[] {
  const citations: Citation[] = []
  for (let at = 0; at < tokens.length && citations.length < max;) {
    const reading = readCitation(tokens, at, aliases)
    citations.push(...(reading?.citations ?? []))
    at = Math.max(at + 1, reading?.end ?? 0)
  }
  return citations.slice(0, max)
}

/** Reads the citation that starts at a token, or what is passed over there. The first case that applies counts. */
function readCitation(tokens: TokenStream, at: number, aliases: ActAliases): Reading | undefined {
  // 1. A sign starts no citation, except `§` and a bracket.
  if (tokens.get(at)?.kind === 'sign' && !tokens.reads(at, '§', '§§', '(')) return undefined
  return (
    // 2. What is attached to a provision, and a part before its provision: `Anhang zu § 3`, `point (f) of Article 6(1)`.
    readAttachment(tokens, at, aliases) ??
    readPartFirst(tokens, at, aliases) ??
    // 3. An act of a table or by its official number, perhaps with a provision: `GDPR Art. 6`, `15 U.S.C. 1601`.
    readActFirst(tokens, at, aliases) ??
    // 4. A non-statutory source, which is passed over with its provision: `ISO 27001 section 5`.
    passSource(tokens, at, aliases) ??
    // 5. An unresolved act, perhaps with a provision: `Solvency II Article 28`.
    readUnresolvedFirst(tokens, at, aliases) ??
    // 6. A provision whose word stands behind its number (`5. pants`, `36 §`), or around it (`第5条`).
    readCjkArticle(tokens, at, aliases) ??
    readNumberFirst(tokens, at, aliases) ??
    // 7. A provision, perhaps with the act after it: `Article 6 of the GDPR`, `§ 433`.
    readProvision(tokens, at, at, undefined, aliases) ??
    // 8. A short form, without a word for the kind of provision: `7.1.1(1)(c)`, `280 BGB`, `L. 3121-27 du code …`.
    readShortForm(tokens, at, aliases)
  )
}
