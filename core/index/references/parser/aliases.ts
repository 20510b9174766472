import { KNOWN_ACTS } from './known-acts.ts'
import { type Token, tokenise } from './tokens.ts'

/**
 * Longer names are ignored, because no act has one. The bound also limits the comparison at each position of a query.
 */
const ALIAS_TOKENS_MAX = 32
/** Signs that are optional between two words of a name: `C. civ.`, `DS-GVO`, `Fees Rules (FEES)`. */
const LOOSE_SIGNS = new Set(['.', '-', '–', "'", '(', ')', ',', '&'])
const LOOSE_SIGNS_TOGETHER_MAX = 2

/** Whether a name counts without a provision beside it: in any letter case, only as written, or never. */
type Standing = 'any' | 'cased' | 'never'

interface Entry {
  readonly act: string
  readonly written: string
  readonly standing: Standing
  readonly casedAlways: boolean
  /** Ends with a full stop that belongs to it (`C. civ.`). */
  readonly pointed: boolean
}

export interface AliasMatch {
  readonly act: string
  /** Position after the name's last token. */
  readonly end: number
  /** Counts also without a provision beside it. */
  readonly standing: boolean
  /** A short code of a rulebook. Such a code is often an ordinary word as well (`AML`, `funds`). */
  readonly code: boolean
  /** The capitals match those of the alias. */
  readonly cased: boolean
}

/** Names of acts: those of the corpus, and built-in names of well-known acts. Built once per version. */
export interface ActAliases {
  /** The longest name that starts at this token. */
  readonly find: (tokens: readonly Token[], at: number) => AliasMatch | undefined
  /** The act whose sections are numbered under this part of the Code of Federal Regulations (`1026.43`: part 1026). */
  readonly actOfPart: (part: string) => string | undefined
}

interface Node {
  readonly next: Map<string, Node>
  entry: Entry | undefined
}

/**
 * `entries` may be in any order. If an alias occurs twice, the lowest act id wins. Names of the corpus override
 * built-in names.
 */
export function createActAliases(entries: Iterable<readonly [alias: string, act: string]>): ActAliases {
  const root: Node = { next: new Map(), entry: undefined }
  const parts = new Map<string, string>()
  const sorted = [...entries].toSorted(([a, actA], [b, actB]) => compare(actB, actA) || compare(b, a))
  for (const known of KNOWN_ACTS) {
    for (const name of known.names) {
      const cased = known.cased === true
      const standing = cased || /^\p{L}+\d?$/u.test(name) ? standingOfWord(name) : 'any'
      insert(root, name, {
        act: known.act,
        written: lettersOf(tokenise(name)),
        standing,
        casedAlways: cased,
        pointed: name.endsWith('.'),
      })
    }
  }
  for (const [alias, act] of sorted) {
    insert(root, alias, {
      act,
      written: lettersOf(tokenise(alias)),
      standing: standingOfAlias(alias, act),
      casedAlways: false,
      pointed: alias.endsWith('.'),
    })
    const part = /^cfr:\d+\/(\d{3,})$/.exec(act)?.[1]
    if (part !== undefined) parts.set(part, act)
  }
  return {
    find: (tokens, at) => find(root, tokens, at),
    actOfPart: (part) => parts.get(part) ?? (/^10\d\d$/.test(part) ? `cfr:12/${part}` : undefined),
  }
}

/** Numbering scheme of an act's provisions. An act with an unknown scheme counts as a rulebook. */
export type Family = 'us' | 'eu' | 'uk' | 'de' | 'fr' | 'rulebook'

const FAMILIES: ReadonlyMap<string, Family> = new Map([
  ['cfr', 'us'],
  ['usc', 'us'],
  ['celex', 'eu'],
  ['ukpga', 'uk'],
  ['uksi', 'uk'],
  ['eur', 'eu'],
  ['name', 'uk'],
  ['de', 'de'],
  ['fr', 'fr'],
])

export function familyOf(act: string): Family {
  return FAMILIES.get(act.slice(0, act.indexOf(':'))) ?? 'rulebook'
}

function insert(root: Node, name: string, entry: Entry): void {
  const words = tokenise(name).filter((token) => !LOOSE_SIGNS.has(token.text))
  if (words.length === 0 || words.length > ALIAS_TOKENS_MAX || words[0]?.kind === 'sign') return
  let node = root
  for (const word of words) {
    const next = node.next.get(word.text) ?? { next: new Map(), entry: undefined }
    node.next.set(word.text, next)
    node = next
  }
  const before = node.entry
  node.entry = before === undefined ? entry : { ...entry, standing: before.standing, casedAlways: before.casedAlways }
}

function find(root: Node, tokens: readonly Token[], at: number): AliasMatch | undefined {
  let node: Node | undefined = root
  let best: AliasMatch | undefined
  let place = at
  let loose = 0
  while (place < tokens.length && place - at < ALIAS_TOKENS_MAX * 2) {
    const token = tokens[place]
    if (token === undefined) break
    const next: Node | undefined = node.next.get(token.text)
    if (next === undefined) {
      if (place === at || loose >= LOOSE_SIGNS_TOGETHER_MAX || !LOOSE_SIGNS.has(token.text)) break
      loose += 1
    } else {
      node = next
      loose = 0
      if (next.entry !== undefined) best = matchOf(next.entry, tokens, at, place + 1) ?? best
    }
    place += 1
  }
  return best
}

function matchOf(entry: Entry, tokens: readonly Token[], at: number, end: number): AliasMatch | undefined {
  const cased = lettersOf(tokens.slice(at, end)) === entry.written
  if (entry.casedAlways && !cased) return undefined
  const code = familyOf(entry.act) === 'rulebook' && isWord(entry.written)
  const last = entry.pointed && tokens[end]?.text === '.' && tokens[end + 1] !== undefined ? end + 1 : end
  return {
    act: entry.act,
    end: last,
    standing: entry.standing === 'any' || (entry.standing === 'cased' && cased),
    code,
    cased,
  }
}

function standingOfAlias(alias: string, act: string): Standing {
  if (!isWord(alias)) return /^\p{Lu}/u.test(alias) ? 'cased' : 'any'
  return familyOf(act) === 'rulebook' || alias.length < 3 ? 'never' : 'cased'
}

/** Single words and abbreviations are ambiguous in lower case, except well-known ones. */
function standingOfWord(name: string): Standing {
  return /^(?:gdpr|dsgvo|rgpd|mifir|aifmd|sfdr|psd2|nis2|tfeu|pecr|[a-z]{10,})$/i.test(name) ? 'any' : 'cased'
}

/** One word, hyphens included: `AML`, `COB-F`. */
function isWord(alias: string): boolean {
  return !/\s/.test(alias.trim())
}

function lettersOf(tokens: readonly Token[]): string {
  let letters = ''
  for (const token of tokens) {
    if (LOOSE_SIGNS.has(token.text)) continue
    letters += `${letters === '' || token.glued ? '' : ' '}${token.raw}`
  }
  return letters
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
