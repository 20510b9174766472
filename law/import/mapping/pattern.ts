import { RE2JS, RE2JSSyntaxException } from 're2js'
import { IMPORT_BOUNDS } from '../bounds.ts'
import { activeInstructions } from './pattern-cost.ts'

/** A regular expression of a mapping. Its cost is linear in the length of the text. */
export interface Pattern {
  /** True if the pattern matches somewhere in the text. */
  readonly test: (text: string) => boolean
  /** Returns the leftmost match, or undefined. */
  readonly exec: (text: string) => PatternMatch | undefined
}

/** Groups of a match, by number and name; 0 is the whole match. A group that took no part is undefined. */
export interface PatternMatch {
  readonly group: (group: number | string) => string | undefined
}

/**
 * Compiles a pattern in RE2 syntax (https://github.com/google/re2/wiki/Syntax), which knows neither lookaround nor
 * back-references. It matches code points, as flag u does. `\s` is white space of ASCII, `[\s\p{Z}]` that of Unicode.
 * @throws PatternError with what is wrong.
 */
export function compilePattern(source: string): Pattern {
  const pattern = parsed(source)
  if (
    pattern.programSize() > IMPORT_BOUNDS.patternInstructionsMax ||
    activeInstructions(pattern) > IMPORT_BOUNDS.patternActiveInstructionsMax
  )
    throw new PatternError('is too large: repeat less, or match a shorter part')
  const groups = pattern.groupCount()
  const names = pattern.namedGroups()
  return {
    test: (text) => pattern.test(text),
    exec: (text) => {
      const matcher = pattern.matcher(text)
      if (!matcher.find()) return undefined
      return {
        group: (group) => {
          const index = typeof group === 'number' ? group : (names[group] ?? -1)
          return index < 0 || index > groups ? undefined : (matcher.group(index) ?? undefined)
        },
      }
    },
  }
}

/** Returns why a pattern is refused, as the end of a sentence about it, or undefined. */
export function patternFault(source: string): string | undefined {
  try {
    compilePattern(source)
    return undefined
  } catch (cause) {
    if (cause instanceof PatternError) return cause.message
    throw cause
  }
}

/** Why a pattern is refused. */
class PatternError extends Error {}

function parsed(source: string): RE2JS {
  try {
    return RE2JS.compile(source)
  } catch (cause) {
    if (!(cause instanceof RE2JSSyntaxException)) throw cause
    const fragment = cause.getPattern() ?? source
    throw new PatternError(`has ${cause.getDescription()} at \`${fragment}\`; ${HINT}`, { cause })
  }
}

const HINT = 'write it in RE2 syntax, without lookaround and back-references'
