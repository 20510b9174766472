import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/**
 * Returns an ONNX graph without its weights: each names its place in the file instead, as weights outside of a graph do.
 * ONNX Runtime maps such weights, so two sessions share the pages that they touch, and opening one copies none of them.
 * Fields are those of onnx.proto, https://onnx.ai/onnx/repo-docs/IR.html.
 * @param path of the graph.
 * @param location name of the same file below the folder that the session takes such weights from.
 * @throws Error for a file that is no protobuf message.
 */
export function graphWithoutWeights(path: string, location: string): Buffer {
  using opened = new DisposableStack()
  const file = opened.adopt(openSync(path, 'r'), closeSync)
  const model = [...fieldsOf(file, 0, fstatSync(file).size)].map((field) => {
    if (field.number !== MODEL_GRAPH) return bytesOf(file, field.at, field.end)
    const graph = [...fieldsOf(file, field.begin, field.end)].map((part) =>
      part.number === GRAPH_INITIALIZER
        ? lengthDelimited(GRAPH_INITIALIZER, tensorIn(file, part, location))
        : bytesOf(file, part.at, part.end),
    )
    return lengthDelimited(MODEL_GRAPH, Buffer.concat(graph))
  })
  return Buffer.concat(model)
}

const MODEL_GRAPH = 7
const GRAPH_INITIALIZER = 5
const TENSOR_RAW_DATA = 9
const TENSOR_EXTERNAL_DATA = 13
const TENSOR_DATA_LOCATION = 14
const LOCATION_EXTERNAL = 1
/** A page of memory: smaller ones are not worth a mapping. */
const MAPPED_BYTES_MIN = 4_096
/** A tag and a length, of at most ten bytes each. */
const HEAD_BYTES_MAX = 20

/** Places in the file. */
interface Field {
  readonly number: number
  readonly at: number
  /** Of what follows tag and length. */
  readonly begin: number
  readonly end: number
}

function tensorIn(file: number, { begin, end }: Field, location: string): Buffer {
  const fields = [...fieldsOf(file, begin, end)]
  const weights = fields.find(({ number }) => number === TENSOR_RAW_DATA)
  if (weights === undefined || weights.end - weights.begin < MAPPED_BYTES_MIN) return bytesOf(file, begin, end)
  const place = { location, offset: String(weights.begin), length: String(weights.end - weights.begin) }
  return Buffer.concat([
    ...fields.filter((field) => field !== weights).map((field) => bytesOf(file, field.at, field.end)),
    ...Object.entries(place).map((entry) =>
      lengthDelimited(
        TENSOR_EXTERNAL_DATA,
        Buffer.concat(entry.map((text, at) => lengthDelimited(at + 1, Buffer.from(text)))),
      ),
    ),
    varint(TENSOR_DATA_LOCATION * 8),
    varint(LOCATION_EXTERNAL),
  ])
}

function* fieldsOf(file: number, from: number, to: number): Generator<Field> {
  for (let at = from; at < to;) {
    const head = bytesOf(file, at, Math.min(at + HEAD_BYTES_MAX, to))
    const tag = readVarint(head, 0)
    const first = readVarint(head, tag.next)
    const begin = at + (tag.value % 8 === 2 ? first.next : tag.next)
    const end = begin + sizeOf(tag.value % 8, first, tag.next)
    if (end > to) throw new Error('the graph is cut off')
    yield { number: Math.floor(tag.value / 8), at, begin, end }
    at = end
  }
}

/** Bytes of a value, by its wire type (https://protobuf.dev/programming-guides/encoding). */
function sizeOf(wireType: number, first: ReturnType<typeof readVarint>, from: number): number {
  switch (wireType) {
    case 0:
      return first.next - from
    case 1:
      return 8
    case 2:
      return first.value
    case 5:
      return 4
    default:
      throw new Error('the graph is no ONNX file')
  }
}

/** @returns `next`: the place of the byte after it. */
function readVarint(bytes: Buffer, from: number) {
  let value = 0
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    value += (byte % 128) * 2 ** (7 * (at - from))
    if (byte < 128) return { value, next: at + 1 }
  }
  return { value, next: bytes.length }
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return Buffer.from([...bytes, rest])
}

function lengthDelimited(field: number, bytes: Buffer): Buffer {
  return Buffer.concat([varint(field * 8 + 2), varint(bytes.length), bytes])
}

function bytesOf(file: number, from: number, to: number): Buffer {
  const bytes = Buffer.alloc(to - from)
  if (readSync(file, bytes, 0, bytes.length, from) !== bytes.length) throw new Error('the graph is cut off')
  return bytes
}
