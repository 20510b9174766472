/**
 * Breaking changes of an OpenAPI document: what a caller of the earlier document could send and would be refused, or
 * could rely on in a reply and would miss. Additions to replies are none.
 */
type Json = Readonly<Record<string, unknown>>

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const objectOf = (value: unknown): Json => (isObject(value) ? value : {})
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Returns a copy with every reference within the document replaced by what it names. */
export function dereferenced(document: unknown, value: unknown = document): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => dereferenced(document, item))
  if (!isObject(value)) return value
  if (typeof value.$ref === 'string') {
    const named = value.$ref
      .slice(2)
      .split('/')
      .reduce<unknown>((at, key) => objectOf(at)[key], document)
    if (named === undefined) throw new Error(`${value.$ref} names nothing`)
    return dereferenced(document, named)
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, dereferenced(document, item)]))
}

type Direction = 'request' | 'reply'

/** Keywords whose value may only grow in a request, and only shrink in a reply; the other way round below. */
const UPPER = ['maximum', 'maxLength', 'maxItems']
const LOWER = ['minimum', 'minLength', 'minItems', 'exclusiveMinimum']
const EXACT = ['type', 'const', 'format', 'pattern', 'anyOf', 'allOf', 'oneOf']

const alternatives = (schema: Json): readonly Json[] =>
  schema.anyOf === undefined ? [schema] : listOf(schema.anyOf).map(objectOf)

function schemaChanges(before: Json, after: Json, direction: Direction, at: string): readonly string[] {
  const bound = (keyword: string, sign: number): readonly string[] => {
    const missing = Number.POSITIVE_INFINITY * sign
    const [old, now] = [before, after].map((schema) => Number(schema[keyword] ?? missing))
    const narrower = sign * ((now ?? 0) - (old ?? 0)) < 0
    return old !== now && narrower === (direction === 'request') ? [`${at}: ${keyword} changed`] : []
  }
  // Each reply of several is as narrow as one of those before.
  if (direction === 'reply' && (before.anyOf ?? after.anyOf) !== undefined)
    return alternatives(after).flatMap((one, n) => {
      const found = alternatives(before).map((old) => schemaChanges(old, one, direction, `${at}|${n}`))
      return found.find((changes) => changes.length === 0) ?? found[0] ?? []
    })
  const [values, valuesNow] = [listOf(before.enum), listOf(after.enum)]
  const [held, holding] = direction === 'request' ? [values, valuesNow] : [valuesNow, values]
  const enumChanged = holding.length > 0 && (held.length === 0 || held.some((value) => !holding.includes(value)))
  const [required, requiredNow] = [listOf(before.required), listOf(after.required)]
  const [demanded, demandedBefore] = direction === 'request' ? [requiredNow, required] : [required, requiredNow]
  const properties = Object.entries(objectOf(before.properties))
  return [
    ...EXACT.filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key])).map(
      (key) => `${at}: ${key} changed`,
    ),
    ...UPPER.flatMap((keyword) => bound(keyword, 1)),
    ...LOWER.flatMap((keyword) => bound(keyword, -1)),
    ...(enumChanged ? [`${at}: enum changed`] : []),
    ...demanded
      .filter((name) => !demandedBefore.includes(name))
      .map((name) => `${at}/${String(name)}: required changed`),
    ...properties.flatMap(([name, schema]) => {
      const now = objectOf(after.properties)[name]
      return now === undefined
        ? [`${at}/${name}: gone`]
        : schemaChanges(objectOf(schema), objectOf(now), direction, `${at}/${name}`)
    }),
    ...(before.items === undefined
      ? []
      : schemaChanges(objectOf(before.items), objectOf(after.items), direction, `${at}/*`)),
  ]
}

const bodyOf = (holder: unknown): Json =>
  objectOf(objectOf(objectOf(objectOf(holder).content)['application/json']).schema)

/** One sentence for each breaking change between two documents. */
export function breakingChanges(before: unknown, after: unknown): readonly string[] {
  const [old, now] = [objectOf(dereferenced(before)), objectOf(dereferenced(after))]
  return Object.entries(objectOf(old.paths)).flatMap(([path, item]) =>
    Object.entries(objectOf(item)).flatMap(([method, operation]) => {
      const at = `${method} ${path}`
      const kept = objectOf(objectOf(now.paths)[path])[method]
      return kept === undefined ? [`${at}: gone`] : operationChanges(objectOf(operation), objectOf(kept), at)
    }),
  )
}

function operationChanges(before: Json, after: Json, at: string): readonly string[] {
  const parametersNow = listOf(after.parameters).map(objectOf)
  const named = ({ in: place, name }: Json): string => `${String(place)} ${String(name)}`
  const parameters = listOf(before.parameters).map(objectOf)
  return [
    ...schemaChanges(bodyOf(before.requestBody), bodyOf(after.requestBody), 'request', `${at} body`),
    ...parameters.flatMap((parameter) => {
      const now = parametersNow.find((other) => named(other) === named(parameter))
      return now === undefined
        ? [`${at} ${named(parameter)}: gone`]
        : schemaChanges(objectOf(parameter.schema), objectOf(now.schema), 'request', `${at} ${named(parameter)}`)
    }),
    ...parametersNow
      .filter((parameter) => parameter.required === true)
      .filter((parameter) => !parameters.some((old) => named(old) === named(parameter) && old.required === true))
      .map((parameter) => `${at} ${named(parameter)}: required changed`),
    ...Object.entries(objectOf(before.responses)).flatMap(([status, response]) => {
      const now = objectOf(after.responses)[status]
      if (now === undefined) return [`${at} ${status}: gone`]
      const headersNow = Object.keys(objectOf(objectOf(now).headers))
      return [
        ...Object.keys(objectOf(objectOf(response).headers))
          .filter((name) => !headersNow.includes(name))
          .map((name) => `${at} ${status} ${name}: gone`),
        ...schemaChanges(bodyOf(response), bodyOf(now), 'reply', `${at} ${status}`),
      ]
    }),
  ]
}
