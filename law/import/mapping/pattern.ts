import { RE2JS, RE2JSSyntaxException } from 're2js'
import { z } from 'zod'
import { IMPORT_BOUNDS } from '../bounds.ts'

/** Groups of a match, by number and name; 0 is the whole match. A group that took no part is undefined. */
export type PatternMatch = (group: number | string) => string | undefined

/**
 * Compiles a pattern in RE2 syntax (https://github.com/google/re2/wiki/Syntax), which knows neither lookaround nor
 * back-references. It matches code points, as flag u does. `\s` is white space of ASCII, `[\s\p{Z}]` that of Unicode.
 * @throws PatternError with what is wrong.
 */
export function compilePattern(source: string) {
  const pattern = parsed(source)
  if (
    pattern.programSize() > IMPORT_BOUNDS.patternInstructionsMax ||
    activeInstructions(pattern) > IMPORT_BOUNDS.patternActiveInstructionsMax
  )
    throw new PatternError('is too large: repeat less, or match a shorter part')
  const groups = pattern.groupCount()
  const names = pattern.namedGroups()
  return {
    test: (text: string) => pattern.test(text),
    /** The leftmost match. */
    exec: (text: string): PatternMatch | undefined => {
      const matcher = pattern.matcher(text)
      if (!matcher.find()) return undefined
      return (group) => {
        const index = typeof group === 'number' ? group : (names[group] ?? -1)
        return index < 0 || index > groups ? undefined : (matcher.group(index) ?? undefined)
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

/** Instructions of re2js, which are those of RE2 (https://swtch.com/~rsc/regexp/regexp2.html). */
const OPCODES = { alternative: 1, alternativeMatch: 2, capture: 3, assertion: 4, none: 7, class: 8, any: 11 } as const
const BEGIN_OF_TEXT = 4
/** Units of a class, two for a range, from which a search in it costs more. */
const LARGE_CLASS_UNITS = 128

const instructionSchema = z.object({ op: z.int(), out: z.int(), arg: z.int(), runes: z.instanceof(Int32Array) })
type Instruction = z.infer<typeof instructionSchema>
const compiledSchema = z.object({
  re2Input: z.object({ cond: z.int(), prog: z.object({ start: z.int(), inst: z.array(instructionSchema) }) }),
})

/**
 * Returns the most instructions that one step of a match can have active, which is its cost; a large class counts half
 * more. Instructions that only the first characters of an anchored match reach are not counted: a long text spends no
 * time in them. Two literals are active together only where both may follow the same character.
 */
function activeInstructions(pattern: RE2JS): number {
  const { cond, prog } = compiledSchema.parse(pattern).re2Input
  const { inst, start } = prog
  const roots = (cond & BEGIN_OF_TEXT) === 0 ? [start] : []
  const steady = reached(inst, [...roots, ...loops(inst)], () => true)
  const always = [...roots]
  const after = new Map<number, number[]>()
  for (const index of steady) {
    const each = inst[index]
    if (each === undefined || !isCharacter(each)) continue
    const [literal] = each.runes
    if (each.runes.length !== 1 || literal === undefined) always.push(each.out)
    else after.set(literal, [...(after.get(literal) ?? []), each.out])
  }
  const costs = [[], ...after.values()].map((more) => {
    const active = [...reached(inst, [...always, ...more], (each) => !isCharacter(each))]
    return active.reduce((sum, index) => sum + ((inst[index]?.runes.length ?? 0) > LARGE_CLASS_UNITS ? 1.5 : 1), 0)
  })
  return Math.max(...costs)
}

function isCharacter({ op }: Instruction): boolean {
  return op >= OPCODES.class && op <= OPCODES.any
}

function nextOf(each: Instruction): readonly number[] {
  const { op, out, arg } = each
  if (op === OPCODES.alternative || op === OPCODES.alternativeMatch) return [out, arg]
  const goesOn = op === OPCODES.capture || op === OPCODES.assertion || op === OPCODES.none || isCharacter(each)
  return goesOn ? [out] : []
}

/** Returns what can be reached, with the start; an instruction is left only where `passes` holds. */
function reached(
  instructions: readonly Instruction[],
  from: readonly number[],
  passes: (each: Instruction) => boolean,
): ReadonlySet<number> {
  const seen = new Set<number>()
  const waiting = [...from]
  for (let index = waiting.pop(); index !== undefined; index = waiting.pop()) {
    const each = instructions[index]
    if (each === undefined || seen.has(index)) continue
    seen.add(index)
    if (passes(each)) waiting.push(...nextOf(each))
  }
  return seen
}

/** Returns the instructions that can be reached from themselves. */
function loops(instructions: readonly Instruction[]): readonly number[] {
  return instructions.flatMap((each, index) =>
    reached(instructions, nextOf(each), () => true).has(index) ? [index] : [],
  )
}
