import { buildGraph } from '#core/index/vectors/graph.ts'
import { seededRandom } from '#test/support/passages.ts'

/** Writes the graph of made-up points: `write-graph.ts PATH POINTS DIMENSIONS SEED`. */
const [path = '', points = '0', dimensions = '0', seed = '0'] = process.argv.slice(2)
const random = seededRandom(Number(seed))
const made = Float32Array.from({ length: Number(points) * Number(dimensions) }, () => random() - 0.4)
buildGraph(made, Number(dimensions)).save(path)
