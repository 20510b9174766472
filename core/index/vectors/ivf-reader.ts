import { join } from 'node:path'
import { wholeFile, type ResidentParts } from '#core/index/storage/resident-parts.ts'
import { ivfLayout, type IvfDescription } from './ivf-layout.ts'
import { openGraph } from './graph.ts'
import { addRow, bitsetWords } from '#core/index/bitset.ts'
import { createKernel, NO_THRESHOLD } from './kernel.ts'
import { rowsLayout } from './layout.ts'
import { createEncoder, type QuantizedQuery, type ScalarQuantizer } from './quantizer.ts'

/** One thread's view of the lists of a version. */
export type IvfReader = ReturnType<typeof openIvf>

/** @param folder of a verified artifact. @throws Error if a file does not match its description. */
export function openIvf(
  folder: string,
  rows: number,
  dimensions: number,
  { count, connectivity, nprobe, deviations }: IvfDescription,
  parts: ResidentParts,
) {
  const { radiiOffset, rowsOffset, bytes } = ivfLayout(rows, count)
  const table = parts.read(wholeFile(join(folder, 'clusters.u32'), bytes))
  return {
    nprobe,
    deviations,
    ...openCentroids(folder, count, dimensions, parts),
    ...openGraph(join(folder, 'graph.usearch'), dimensions, count, connectivity),
    /** First position of each list, and the end. */
    starts: new Uint32Array(table, 0, count + 1),
    /** See `ivfLayout`. */
    radii: new Float32Array(table, radiiOffset, count),
    /** The row of each position. */
    rows: new Uint32Array(table, rowsOffset, rows),
  }
}

/** @param centroids concatenated. @returns `centroids.sq4`. */
export function encodeCentroids(quantizer: ScalarQuantizer, centroids: Float32Array): Uint8Array {
  return createEncoder(quantizer)(centroids)
}

/** Length of `centroids.sq4`. */
export function centroidsBytes(lists: number, dimensions: number): number {
  return rowsLayout(lists, dimensions).bytes
}

/** The quantized centroids of a version; one thread's view. @throws Error if the file does not hold so many SQ4 vectors. */
export function openCentroids(folder: string, lists: number, dimensions: number, parts: ResidentParts) {
  const sq4 = parts.memory(wholeFile(join(folder, 'centroids.sq4'), centroidsBytes(lists, dimensions)))
  const words = bitsetWords(lists)
  const { bits, hits, setQuery, scan } = createKernel(rowsLayout(lists, dimensions), sq4, words * 32)
  for (let list = 0; list < lists; list++) addRow(bits, list)
  const products = new Float32Array(lists)
  return {
    /**
     * The inner product of a query with each centroid, less that with the mean of all rows.
     * @returns by list; valid until the next call.
     */
    products(query: QuantizedQuery): Float32Array {
      setQuery(query)
      scan(0, words, NO_THRESHOLD)
      // Every SQ4 vector scores above the threshold, so the hits are the lists in order.
      for (let list = 0; list < lists; list++)
        products[list] = ((hits[list * 2 + 1] ?? 0) - query.offset) / query.scorePerCosine
      return products
    },
  }
}
