/** Returns what a text of JSON says; undefined where it is no JSON. */
export function parsedJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return value
  } catch {
    return undefined
  }
}

/**
 * Encodes data for a prompt so that no part of it can end its string. Chat templates mark roles with tags like
 * `<|im_end|>`, which some servers also read in contents, so no `<` is sent as itself.
 */
export function delimitedJson(value: object): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c')
}
