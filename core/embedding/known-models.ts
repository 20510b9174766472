import KNOWN from './known-models.json' with { type: 'json' }

/**
 * Returns what is known of a model; undefined for any other. Patterns are of names in lower case, as model hubs, servers
 * and hosts write them: `intfloat/multilingual-e5-small`, `nomic-embed-text:latest`. The first that matches counts.
 * @returns `tokensMax`: of one text; the rest is cut or refused.
 */
export function knownModel(name: string) {
  const found = KNOWN.find(({ pattern }) => new RegExp(pattern).test(name.toLowerCase().replaceAll('_', '-')))
  if (found === undefined) return undefined
  const { query_prefix, passage_prefix, tokensMax } = found
  return { query_prefix, passage_prefix, tokensMax }
}
