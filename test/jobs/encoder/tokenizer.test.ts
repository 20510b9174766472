import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Tokenizer, createTokenizer } from '#jobs/encoder/tokenizer.ts'
import type { TokenizerFile } from '#jobs/encoder/tokenizer.ts'

const SPECIAL = ['<s>', '</s>', '<unk>']

function fileOf(pieces: readonly (readonly [string, number])[]): TokenizerFile & object {
  const metaspace = { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true }
  const vocab = [...SPECIAL.map((text) => [text, 0]), ...pieces]
  const added = [...SPECIAL.map((content, id) => ({ id, content })), { id: vocab.length, content: '<mask>' }]
  return {
    version: '1.0',
    added_tokens: added.map((each) => ({ ...each, special: true, normalized: false })),
    normalizer: { type: 'NFKC' },
    pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'WhitespaceSplit' }, metaspace] },
    post_processor: null,
    decoder: metaspace,
    model: { type: 'Unigram', unk_id: SPECIAL.indexOf('<unk>'), vocab },
  } as TokenizerFile & object
}

const characters = ['▁', 'a', 'b', 'ß', '法', '😀', '<', 'm']
const text = (alphabet: readonly string[]): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...alphabet), minLength: 1, maxLength: 5 })
const pieces = fc.uniqueArray(fc.tuple(text(characters), fc.integer({ min: -12, max: -1 })), {
  selector: ([piece]) => piece,
  maxLength: 40,
})
const texts = fc.array(text([...characters, ' ', '<mask>', '＜', '<s>', 'z']), { maxLength: 8 })

test('a text has the tokens that the package gives it with its own tree of the vocabulary', () => {
  fc.assert(
    fc.property(pieces, texts, (vocabulary, words) => {
      const own = createTokenizer(fileOf(vocabulary), {})
      const packaged = new Tokenizer(fileOf(vocabulary), {})
      const whole = words.join('')
      expect(own.encode(whole).ids).toEqual(packaged.encode(whole).ids)
    }),
  )
})
