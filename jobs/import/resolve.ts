import { writtenDate } from './dates.ts'
import { alternativesOf, fieldNameSchema } from './mapping.ts'
import type { Alternative, FieldName, Mapping, Rule } from './mapping.ts'
import type { SourceRecord } from './record.ts'

/** The value of a field, and the documented rule that derived it where the source does not state it. */
export interface Resolved {
  readonly value: string
  readonly derived: string | undefined
}

export interface ResolvedRecord {
  readonly fields: ReadonlyMap<FieldName, Resolved>
  /** Reason of the first skip pattern that matched. */
  readonly skip: string | undefined
}

type Lookup = (name: string) => Resolved | undefined
type Resolver = (lookup: Lookup) => Resolved | undefined

/** Compiles a mapping, with its regular expressions, once. Returns a function that fills the fields of a record. */
export function compileMapping(mapping: Mapping): (record: SourceRecord) => ResolvedRecord {
  const values = Object.entries(mapping.values).map(([name, rule]) => [name, ruleResolver(rule, mapping)] as const)
  const fields = Object.entries(mapping.fields).flatMap(([name, rule]) =>
    rule === undefined ? [] : [[fieldNameSchema.parse(name), ruleResolver(rule, mapping)] as const],
  )
  const skips = mapping.skip_patterns.map(({ on, pattern, reason }) => ({
    resolve: templateResolver(on),
    expression: new RegExp(pattern, 'u'),
    reason,
  }))
  return (record) => {
    const known = new Map<string, Resolved>()
    const lookup = lookupOf(record, known)
    for (const [name, resolve] of values) {
      const resolved = resolve(lookup)
      if (resolved !== undefined) known.set(`values.${name}`, resolved)
    }
    const filled = new Map<FieldName, Resolved>()
    for (const [name, resolve] of fields) {
      const resolved = resolve(lookup)
      if (resolved !== undefined) filled.set(name, resolved)
    }
    const skip = skips.find(({ resolve, expression }) => expression.test(resolve(lookup)?.value ?? ''))
    return { fields: filled, skip: skip?.reason }
  }
}

function lookupOf(record: SourceRecord, known: ReadonlyMap<string, Resolved>): Lookup {
  const stated = (value: string | undefined): Resolved | undefined =>
    value === undefined || value === '' ? undefined : { value, derived: undefined }
  return (name) => {
    switch (name) {
      case 'id':
        return stated(record.id)
      case 'title':
        return stated(record.title)
      case 'text':
        return stated(record.text)
      default:
        return known.get(name) ?? stated(record.section?.get(name) ?? record.metadata.get(name))
    }
  }
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
  const expression = alternative.match === undefined ? undefined : new RegExp(alternative.match, 'u')
  const table = alternative.lookup === undefined ? undefined : mapping.tables[alternative.lookup]
  return (lookup) => {
    const stated = from(lookup)
    if (stated === undefined) return undefined
    const matched = expression === undefined ? stated.value : captured(expression.exec(stated.value), alternative.as)
    const found =
      matched !== undefined && table !== undefined
        ? Object.hasOwn(table, matched)
          ? table[matched]
          : undefined
        : matched
    const value = found !== undefined && alternative.date !== undefined ? writtenDate(found, alternative.date) : found
    return value === undefined ? undefined : { value, derived: alternative.derived ?? stated.derived }
  }
}

function captured(match: RegExpExecArray | null, as: string | undefined): string | undefined {
  if (match === null) return undefined
  if (as === undefined) return match[1] ?? match[0]
  return as.replaceAll(/\$(?:(\d)|<(\w+)>)/g, (_reference, index: string | undefined, name: string | undefined) => {
    return (index === undefined ? match.groups?.[name ?? ''] : match[Number(index)]) ?? ''
  })
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
      value += resolved.value
      derived ??= resolved.derived
    }
    return { value, derived }
  }
}
