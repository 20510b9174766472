import { OperatorError } from '#core/platform/errors.ts'
import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { writtenDate } from './dates.ts'
import { alternativesOf, fieldNameSchema } from './mapping.ts'
import { sourcesOf } from './read-fields.ts'
import type { Alternative, FieldName, Mapping, Rule } from './mapping.ts'
import { compilePattern, type PatternMatch } from './pattern.ts'

/** A value, and the documented rule that derived it where the source does not state it. */
interface Resolved {
  readonly value: string
  readonly derived: string | undefined
}

type Lookup = (placeholder: string) => Resolved | undefined
type Resolver = (lookup: Lookup) => Resolved | undefined

/** What the rules of a mapping make of one record. */
export interface MappedValues {
  readonly fields: ReadonlyMap<FieldName, Resolved>
  /** Reason of the first skip pattern that matched. */
  readonly skip: string | undefined
  /**
   * The record states a field that the rule of `effective_to` reads, and no alternative understands it. An alternative
   * that gives a blank text understands it as open.
   */
  readonly endNotUnderstood: boolean
}

/**
 * Compiles a mapping, with its regular expressions, once. Returns a function that fills the fields of a record from what
 * it states under each placeholder.
 */
export function compileMapping(
  mapping: Mapping,
): (stated: (placeholder: string) => string | undefined) => MappedValues {
  const values = Object.entries(mapping.values).map(([name, rule]) => [name, ruleResolver(rule, mapping)] as const)
  const fields = Object.entries(mapping.fields).flatMap(([name, rule]) =>
    rule === undefined ? [] : [[fieldNameSchema.parse(name), ruleResolver(rule, mapping)] as const],
  )
  const skips = mapping.skip_patterns.map(({ on, pattern, reason }) => ({
    resolve: templateResolver(on),
    pattern: compilePattern(pattern),
    reason,
  }))
  const isEndUnderstood = endReader(mapping)
  return (stated) => {
    const known = new Map<string, Resolved>()
    const lookup: Lookup = (name) => {
      const value = stated(name) ?? ''
      return known.get(name) ?? (value === '' ? undefined : { value, derived: undefined })
    }
    for (const [name, resolve] of values) {
      const resolved = resolve(lookup)
      if (resolved !== undefined) known.set(`values.${name}`, resolved)
    }
    const filled = new Map<FieldName, Resolved>()
    for (const [name, resolve] of fields) {
      const resolved = resolve(lookup)
      if (resolved !== undefined) filled.set(name, resolved)
    }
    const skip = skips.find(({ resolve, pattern }) => pattern.test(resolve(lookup)?.value ?? ''))?.reason
    return { fields: filled, skip, endNotUnderstood: !filled.has('effective_to') && !isEndUnderstood(lookup) }
  }
}

/** Returns a function that is false where a record states an end in a form that no alternative understands. */
function endReader(mapping: Mapping): (lookup: Lookup) => boolean {
  const rule = mapping.fields.effective_to
  const alternatives = rule === undefined ? [] : alternativesOf(rule).map((each) => alternativeResolver(each, mapping))
  const sources = rule === undefined ? [] : sourcesOf(rule, mapping)
  return (lookup) =>
    alternatives.some((resolve) => resolve(lookup) !== undefined) ||
    sources.every((source) => lookup(source) === undefined)
}

function ruleResolver(rule: Rule, mapping: Mapping): Resolver {
  const alternatives = alternativesOf(rule).map((alternative) => alternativeResolver(alternative, mapping))
  return (lookup) => {
    for (const resolve of alternatives) {
      const resolved = resolve(lookup)
      if (resolved !== undefined && resolved.value.trim() !== '') return resolved
    }
    return undefined
  }
}

function alternativeResolver(alternative: Alternative, mapping: Mapping): Resolver {
  if (typeof alternative === 'string') return templateResolver(alternative)
  const from = templateResolver(alternative.from)
  const pattern = alternative.match === undefined ? undefined : compilePattern(alternative.match)
  const written = replacementWriter(alternative.as)
  const table = alternative.lookup === undefined ? undefined : mapping.tables[alternative.lookup]
  return (lookup) => {
    const stated = from(lookup)
    if (stated === undefined) return undefined
    const matched = pattern === undefined ? stated.value : written(pattern.exec(stated.value))
    const found =
      matched !== undefined && table !== undefined
        ? Object.hasOwn(table, matched)
          ? table[matched]
          : undefined
        : matched
    const value = found !== undefined && alternative.date !== undefined ? writtenDate(found, alternative.date) : found
    if (value === undefined) return undefined
    return { value: cut(value, alternative.characters_max), derived: alternative.derived ?? stated.derived }
  }
}

function cut(value: string, charactersMax: number | undefined): string {
  if (charactersMax === undefined || value.length <= charactersMax) return value
  const start = value.slice(0, 2 * charactersMax)
  return [...start].slice(0, charactersMax).join('')
}

/** Returns a function that writes the result of a match: `as` with `$1` and `$<name>` replaced. */
function replacementWriter(as: string | undefined): (match: PatternMatch | undefined) => string | undefined {
  if (as === undefined) return (match) => match?.(1) ?? match?.(0)
  const parts = [...as.matchAll(/\$(?:(\d)|<(\w+)>)|[^$]+|\$/g)].map(([literal, index, name]) => ({
    literal,
    group: index === undefined ? name : Number(index),
  }))
  return (match) => {
    if (match === undefined) return undefined
    let value = ''
    for (const { literal, group } of parts) value = extended(value, group === undefined ? literal : match(group))
    return value
  }
}

const PART = /\{([a-z]+(?:\.[^{}]+)?)\}|[^{]+|\{/g

/** Resolves if every placeholder resolves. The result inherits the rule of its first derived placeholder. */
function templateResolver(text: string): Resolver {
  const parts = [...text.matchAll(PART)].map(([literal, name]) => ({ literal, name }))
  return (lookup) => {
    let value = ''
    let derived: string | undefined
    for (const { literal, name } of parts) {
      const resolved = name === undefined ? { value: literal, derived: undefined } : lookup(name)
      if (resolved === undefined) return undefined
      value = extended(value, resolved.value)
      derived ??= resolved.derived
    }
    return { value, derived }
  }
}

/** @throws OperatorError where a value outgrows its bound: named values could otherwise multiply a text without end. */
function extended(value: string, by = ''): string {
  if (value.length + by.length > IMPORT_BOUNDS.mappedValueCharactersMax)
    throw new OperatorError(
      `the mapping makes a value of more than ${IMPORT_BOUNDS.mappedValueCharactersMax} characters: repeat {text} less often`,
    )
  return value + by
}
