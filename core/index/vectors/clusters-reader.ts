import { join } from 'node:path'
import { wholeFile } from '#core/index/storage/resident-parts.ts'
import type { ResidentParts } from '#core/index/storage/resident-parts.ts'
import { openCentroids } from './centroids.ts'
import type { Centroids } from './centroids.ts'
import { clustersLayout } from './clusters.ts'
import type { ClustersDescription } from './clusters.ts'
import { openGraph } from './graph.ts'
import type { MappedGraph } from './graph.ts'

/** One thread's view of the clusters of a version. */
export interface ClustersReader extends Centroids, MappedGraph, Pick<ClustersDescription, 'nprobe' | 'deviations'> {
  /** First position of each cluster, and the end. */
  readonly starts: Uint32Array
  /** See `clustersLayout`. */
  readonly radii: Float32Array
  /** The row of each position. */
  readonly rows: Uint32Array
}

/**
 * @param folder of a verified artifact.
 * @throws Error if a file does not match its description.
 */
export function openClusters(
  folder: string,
  rows: number,
  dimensions: number,
  { count, connectivity, nprobe, deviations }: ClustersDescription,
  parts: ResidentParts,
): ClustersReader {
  const { radiiOffset, rowsOffset, bytes } = clustersLayout(rows, count)
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
