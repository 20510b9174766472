import * as library from '@huggingface/tokenizers'
import { ENCODER_BOUNDS } from './bounds.ts'

/** What this process uses of a tokenizer of the package. */
interface TextTokenizer {
  encode(text: string, options?: { readonly add_special_tokens: boolean }): { readonly ids: number[] }
}

/** Parsed `tokenizer.json`. */
export interface TokenizerFile {
  readonly model: { vocab?: unknown; readonly type?: unknown; readonly unk_id?: unknown }
}

interface UnigramModel {
  readonly vocab: string[]
  readonly scores: number[]
  readonly tokens_to_ids: Map<string, number>
  unk_score: number
  trie: PrefixSearch
}

interface PrefixSearch {
  /** Pieces of the vocabulary that the characters begin with, from a place on; the shortest first. */
  common_prefix_search(chars: readonly string[], start?: number): Iterable<string>
}

/** The declarations of the package import each other without extensions, so its class has no type here. */
export const { Tokenizer } = library as unknown as {
  readonly Tokenizer: new (tokenizer: object, config: object) => TextTokenizer & { readonly model: UnigramModel }
}

/** Of the package's constructor: what an unknown piece scores below the least probable one. */
const UNKNOWN_PENALTY = 10

/** Text and log probability of a piece of a Unigram vocabulary. */
type Piece = readonly [text: string, score: number]

/**
 * Creates the tokenizer of a file, whose vocabulary is removed: the tokenizer copies it and keeps the rest.
 * The Unigram model of the package builds a tree of its pieces, which takes 100 MB and a second for 250,000 of them.
 * Here the same pieces are found by looking prefixes up in the vocabulary.
 */
export function createTokenizer(file: TokenizerFile, config: object): TextTokenizer {
  const { vocab, type, unk_id: unknown } = file.model
  // Older files name no type.
  if ((type ?? 'Unigram') !== 'Unigram' || typeof unknown !== 'number' || !isPieces(vocab)) {
    const tokenizer = new Tokenizer(file, config)
    delete file.model.vocab
    return tokenizer
  }
  // Of the whole vocabulary the constructor would build the tree.
  file.model.vocab = vocab.slice(0, unknown + 1)
  const tokenizer = new Tokenizer(file, config)
  delete file.model.vocab
  fill(tokenizer.model, vocab, unknown)
  return tokenizer
}

function isPieces(vocab: unknown): vocab is readonly Piece[] {
  const isPiece = (piece: unknown): boolean =>
    Array.isArray(piece) && typeof piece[0] === 'string' && typeof piece[1] === 'number'
  return Array.isArray(vocab) && vocab.every(isPiece)
}

function fill(model: UnigramModel, pieces: readonly Piece[], unknown: number): void {
  const { vocab, scores, tokens_to_ids: ids } = model
  // What a closure names stays in memory, and the pieces take 20 MB.
  const { length: count } = pieces
  // Tokens that the file adds beside the vocabulary come last, as in the constructor.
  const added = [...ids]
  const longest = new Map<number, number>()
  let least = Number.POSITIVE_INFINITY
  for (const [id, [text, score]] of pieces.entries()) {
    vocab[id] = text
    scores[id] = score
    ids.set(text, id)
    least = Math.min(least, score)
    const first = text.codePointAt(0) ?? 0
    longest.set(first, Math.max(longest.get(first) ?? 0, text.length))
  }
  for (const [text, id] of added) ids.set(text, id)
  model.unk_score = least - UNKNOWN_PENALTY
  scores[unknown] = model.unk_score
  model.trie = {
    *common_prefix_search(chars, start = 0) {
      const end = Math.min(chars.length, start + (longest.get(chars[start]?.codePointAt(0) ?? 0) ?? 0))
      let prefix = ''
      for (let at = start; at < end; at++) {
        prefix += chars[at]
        if ((ids.get(prefix) ?? count) < count) yield prefix
      }
    },
  }
}

export interface TokenWindows {
  /** Token ids of one run each, with those that the model adds. */
  readonly windows: readonly (readonly number[])[]
  /** Tokens of the text, with those that the model adds once. */
  readonly tokens: number
}

/** Returns the tokens of a text: one window, or several that overlap where the model takes fewer. */
export type Tokenize = (text: string) => TokenWindows

interface TokenizerFiles {
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
