import { join } from 'node:path'
import { wholeFile, type ResidentParts } from '#core/index/storage/resident-parts.ts'
import { openCentroids, type Centroids } from './centroids.ts'
import { ivfLayout, type IvfDescription } from './ivf-layout.ts'
import { openGraph, type MappedGraph } from './graph.ts'

/** One thread's view of the lists of a version. */
export interface IvfReader extends Centroids, MappedGraph, Pick<IvfDescription, 'nprobe' | 'deviations'> {
  /** First position of each list, and the end. */
  readonly starts: Uint32Array
  /** See `ivfLayout`. */
  readonly radii: Float32Array
  /** The row of each position. */
  readonly rows: Uint32Array
}

/** @param folder of a verified artifact. @throws Error if a file does not match its description. */
export function openIvf(
  folder: string,
  rows: number,
  dimensions: number,
  { count, connectivity, nprobe, deviations }: IvfDescription,
  parts: ResidentParts,
): IvfReader {
  const { radiiOffset, rowsOffset, bytes } = ivfLayout(rows, count)
  const table = parts.read(wholeFile(join(folder, 'clusters.u32'), bytes))
  return {
    nprobe,
    deviations,
    ...openCentroids(folder, count, dimensions, parts),
    ...openGraph(join(folder, 'graph.usearch'), dimensions, count, connectivity),
    starts: new Uint32Array(table, 0, count + 1),
    radii: new Float32Array(table, radiiOffset, count),
    rows: new Uint32Array(table, rowsOffset, rows),
  }
}
