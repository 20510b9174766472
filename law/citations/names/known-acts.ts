import { readFileSync } from 'node:fs'
import { z } from 'zod'

/** A well-known name of an act, independent of any corpus. All other names come with the corpus. */
export interface KnownName {
  readonly act: string
  readonly name: string
  /** The name is ambiguous and counts only as written here. */
  readonly cased: boolean
  /** The name is an abbreviation of other things as well, and counts only beside a provision. */
  readonly beside: boolean
}

/** By act. Names with `^` count only as written, those with `~` only beside a provision, those with `!` only as both. */
const NAMES = z
  .record(z.string(), z.array(z.string()))
  .parse(JSON.parse(readFileSync(new URL('known-acts.json', import.meta.url), 'utf8')))

export const KNOWN_NAMES: readonly KnownName[] = Object.entries(NAMES).flatMap(([act, names]) =>
  names.map((marked) => {
    const mark = /^[!^~]/.exec(marked)?.[0] ?? ''
    return { act, name: marked.slice(mark.length), cased: /[!^]/.test(mark), beside: /[!~]/.test(mark) }
  }),
)
