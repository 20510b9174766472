import type { TokenStream } from './tokens.ts'
import PATTERNS from './patterns.json' with { type: 'json' }

type Pattern = keyof typeof PATTERNS.patterns
/** `@month@` is the list of that name. */
const withLists = (pattern: string) =>
  Object.entries(PATTERNS.lists).reduce((text, [name, list]) => text.replaceAll(`@${name}@`, list), pattern)
const compiled = new Map(
  Object.entries(PATTERNS.patterns).map(([name, { form, pattern }]) => {
    return [name, { isRaw: form === 'raw', pattern: new RegExp(withLists(pattern.join('|')), 'yu') }]
  }),
)
/** The tokens of a text as one string, as written and folded: a space stands where something separates two. */
const raw = new WeakMap<TokenStream, ReturnType<typeof join>>()
const folded = new WeakMap<TokenStream, ReturnType<typeof join>>()

function join(tokens: TokenStream, isRaw: boolean) {
  const starts: number[] = []
  const after = new Map<number, number>()
  let text = ''
  for (const [index, token] of tokens.slice(0, tokens.length).entries()) {
    if (!token.glued) text += ' '
    starts.push(text.length)
    text += isRaw ? token.raw : token.text
    after.set(text.length, index + 1)
  }
  return { text, starts, after }
}

/** Matches a pattern of `patterns.json` from a token on. Returns the groups, and the position after its last token. */
export function matchNamed(tokens: TokenStream, at: number, name: Pattern) {
  const read = compiled.get(name)
  if (read === undefined || at >= tokens.length) return undefined
  const known = read.isRaw ? raw : folded
  let form = known.get(tokens)
  if (form === undefined) known.set(tokens, (form = join(tokens, read.isRaw)))
  read.pattern.lastIndex = form.starts[at] ?? form.text.length
  const found = read.pattern.exec(form.text)
  const end = found === null ? undefined : form.after.get(form.text.slice(0, read.pattern.lastIndex).trimEnd().length)
  return end === undefined || end <= at ? undefined : { end, groups: found?.groups ?? {} }
}
