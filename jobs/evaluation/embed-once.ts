import { EmbeddingError, type Embedder } from '#core/embedding/embedder.ts'

/**
 * Returns an embedder that embeds each text of a role once and remembers its vector, for questions that are asked in
 * several stages. The vectors live as long as it: one evaluation with its comparison, whose questions are bounded.
 */
export function embedOnce(embedder: Embedder): Embedder {
  const known = new Map<string, Float32Array<ArrayBuffer>>()
  return {
    space: embedder.space,
    embed: async (texts, role, signal) => {
      const keys = texts.map((text) => `${role} ${text}`)
      const unknown = [...new Set(texts.filter((_, at) => !known.has(keys[at] ?? '')))]
      const sent = unknown.length === 0 ? undefined : await embedder.embed(unknown, role, signal)
      for (const [at, text] of unknown.entries()) {
        const vector = sent?.vectors[at]
        if (vector === undefined) throw new EmbeddingError('the provider sent too few vectors')
        known.set(`${role} ${text}`, vector)
      }
      const vectors = keys.flatMap((key) => known.get(key) ?? [])
      return { vectors, tokens: sent?.tokens ?? null, overlong: sent?.overlong ?? 0 }
    },
  }
}
