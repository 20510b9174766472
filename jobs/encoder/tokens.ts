import { ENCODER_BOUNDS } from './bounds.ts'
import { createTokenizer } from './tokenizer.ts'
import type { TextTokenizer, TokenizerFile } from './tokenizer.ts'

export interface TokenWindows {
  /** Token ids of one run each, with those that the model adds. */
  readonly windows: readonly (readonly number[])[]
  /** Tokens of the text, with those that the model adds once. */
  readonly tokens: number
}

/** Returns the tokens of a text: one window, or several that overlap where the model takes fewer. */
export type Tokenize = (text: string) => TokenWindows

export interface TokenizerFiles {
  /** Its vocabulary is removed. */
  readonly tokenizer: TokenizerFile
  readonly tokenizerConfig: object
  readonly tokensMax: number
  readonly prompts: { readonly query: string; readonly passage: string }
}

/** Each window of a long text begins with the prompt that the text begins with, as the model was trained. */
export function createTokenize({ tokenizer, tokenizerConfig, tokensMax, prompts }: TokenizerFiles): Tokenize {
  const model = createTokenizer(tokenizer, tokenizerConfig)
  const plain = (text: string): number[] => model.encode(text, { add_special_tokens: false }).ids
  const [before, after] = addedTokens(model)
  const leads = [prompts.query, prompts.passage]
    .map((prompt) => plain(prompt.trim()))
    .filter(({ length }) => length > 0)
  const room = tokensMax - before.length - after.length
  return (text) => {
    const ids = plain(text)
    const tokens = before.length + ids.length + after.length
    if (ids.length <= room) return { windows: [[...before, ...ids, ...after]], tokens }
    const lead = leads.find((each) => each.every((id, at) => id === ids[at])) ?? []
    const own = room - lead.length
    const step = Math.max(1, own - ENCODER_BOUNDS.windowOverlapTokens)
    const rest = ids.slice(lead.length)
    const count = 1 + Math.ceil((rest.length - own) / step)
    const windows = Array.from({ length: count }, (_, at) => {
      // The last window ends with the text and is as long as the others.
      const from = Math.min(at * step, rest.length - own)
      return [...before, ...lead, ...rest.slice(from, from + own), ...after]
    })
    return { windows, tokens }
  }
}

/** The tokens that the model's template puts before and after those of a text. */
function addedTokens(model: TextTokenizer): readonly [readonly number[], readonly number[]] {
  const plain: readonly number[] = model.encode('a', { add_special_tokens: false }).ids
  const whole: readonly number[] = model.encode('a').ids
  const at = whole.findIndex((_, start) => plain.every((id, offset) => whole[start + offset] === id))
  return [whole.slice(0, at), whole.slice(at + plain.length)]
}
