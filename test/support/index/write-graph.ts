import { createGraphWriter } from '#core/index/vectors/graph-writer.ts'
import { seededRandom, unit } from '#test/support/artifact.ts'

/** Writes the graph of made-up vectors: `write-graph.ts PATH ROWS DIMENSIONS SEED`. */
const [path = '', rows = '0', dimensions = '0', seed = '0'] = process.argv.slice(2)
const random = seededRandom(Number(seed))
const writer = createGraphWriter(Number(dimensions))
for (let row = 0; row < Number(rows); row++)
  writer.add(unit(Float32Array.from({ length: Number(dimensions) }, () => random() - 0.4)))
writer.save(path)
