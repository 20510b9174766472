import { getPriority, setPriority } from 'node:os'
import { basename, dirname } from 'node:path'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { graphWithoutWeights } from './graph-file.ts'
import type { Pooling } from './model-folder.ts'

/** The graph of a session, which each thread opens once. */
export interface Graph {
  readonly file: string
  readonly threads: number
  /** Gives way to the other threads of the process. */
  readonly yields: boolean
  readonly dimensions: number
  readonly pooling: Pooling
  readonly padToken: number
}

export interface EncodeTask {
  readonly graph: Graph
  /** Token ids of each text; at least one text, each with at least one token. */
  readonly rows: readonly (readonly number[])[]
}

/** A tenth of the weight of the default: a build goes on where other processes are busy, and questions hardly feel it. */
const LOW_PRIORITY = 10
const OUTPUTS = ['last_hidden_state', 'token_embeddings'] as const
const INPUTS: ReadonlySet<string> = new Set(['input_ids', 'attention_mask', 'token_type_ids'])

let opening: Promise<InferenceSession> | undefined

/** @returns one vector a text, of unit length, one after the other. */
export async function encode({ graph, rows }: EncodeTask): Promise<Float32Array> {
  opening ??= open(graph)
  const session = await opening
  const length = Math.max(...rows.map((row) => row.length))
  const shape = [rows.length, length]
  const ids = new BigInt64Array(rows.length * length).fill(BigInt(graph.padToken))
  const mask = new BigInt64Array(rows.length * length)
  for (const [at, row] of rows.entries()) {
    for (const [place, id] of row.entries()) ids[at * length + place] = BigInt(id)
    mask.fill(1n, at * length, at * length + row.length)
  }
  const given: Record<string, BigInt64Array> = {
    input_ids: ids,
    attention_mask: mask,
    token_type_ids: new BigInt64Array(rows.length * length),
  }
  const feeds = Object.fromEntries(
    session.inputNames.map((name) => [name, new Tensor('int64', given[name] ?? ids, shape)]),
  )
  const output = outputOf(session)
  const states = (await session.run(feeds, [output]))[output]?.data
  if (!(states instanceof Float32Array) || states.length !== rows.length * length * graph.dimensions)
    throw new Error(`the output ${output} of the graph has another shape than texts × tokens × ${graph.dimensions}`)
  return pooled(states, { rows, length, graph })
}

async function open({ file, threads, yields }: Graph): Promise<InferenceSession> {
  // On Linux the priority is that of this thread, and of the threads that the session starts from it.
  if (yields && process.platform === 'linux') setPriority(Math.min(getPriority() + LOW_PRIORITY, 19))
  const session = await InferenceSession.create(graphWithoutWeights(file, basename(file)), {
    intraOpNumThreads: threads,
    // A plan of each shape of a run would have the arena grow for every other one.
    enableMemPattern: false,
    extra: {
      session: {
        model_external_initializers_file_folder_path: dirname(file),
        // Weights of less precision are expanded once, when the session opens, and not with each run.
        disable_quant_qdq: '1',
        // A thread that spins after a run takes time from the other session.
        intra_op: { allow_spinning: '0' },
      },
    },
  })
  const unknown = session.inputNames.filter((name) => !INPUTS.has(name))
  if (unknown.length > 0) throw new Error(`the graph asks for the input ${unknown.join(', ')}, which is not supported`)
  outputOf(session)
  return session
}

function outputOf({ outputNames }: InferenceSession): string {
  const found = OUTPUTS.find((name) => outputNames.includes(name))
  if (found === undefined) throw new Error(`the graph has no output ${OUTPUTS.join(' or ')}`)
  return found
}

interface Pooled {
  readonly rows: EncodeTask['rows']
  /** Tokens of a row, with the padding. */
  readonly length: number
  readonly graph: Graph
}

function pooled(states: Float32Array, { rows, length, graph }: Pooled): Float32Array {
  const { dimensions, pooling } = graph
  const vectors = new Float32Array(rows.length * dimensions)
  for (const [at, row] of rows.entries()) {
    const vector = vectors.subarray(at * dimensions, (at + 1) * dimensions)
    const taken = pooling === 'first' ? 1 : row.length
    for (let token = 0; token < taken; token++) {
      const from = (at * length + token) * dimensions
      for (let i = 0; i < dimensions; i++) vector[i] = (vector[i] ?? 0) + (states[from + i] ?? 0)
    }
    scaleToUnitLength(vector)
  }
  return vectors
}

/** In place; a vector of length zero stays so, and the caller refuses it. */
export function scaleToUnitLength(vector: Float32Array): void {
  const norm = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  if (norm > 0) for (let i = 0; i < vector.length; i++) vector[i] = (vector[i] ?? 0) / norm
}
