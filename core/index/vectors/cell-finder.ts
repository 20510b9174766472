import type { Graph } from './graph.ts'

/** Cells, those first that may hold the nearest rows. */
export interface NearCells {
  readonly cells: Uint32Array
  /** The inner product of a query with the mean of each cell, less that with the mean of all rows. */
  readonly products: Float32Array
}

export interface CellFinder {
  /** Finds `count` cells or nearly so many. @param query unit length. */
  nearest(query: Float32Array, count: number): NearCells
  /**
   * At most what `product + perRadius * radius` is for a cell and for all that `nearest` finds after it.
   * @param product of the cell.
   */
  mostFrom(cell: number, product: number, perRadius: number): number
}

/**
 * The graph orders cells by product + weight × radius: about what the nearest of some thousand rows has, because rows
 * lie around the mean of their cell in all directions. It only decides in which order cells are looked at.
 */
const RADIUS_WEIGHT = 4

function radiusWeight(dimensions: number): number {
  return RADIUS_WEIGHT / Math.sqrt(dimensions)
}

/**
 * The points of the graph: the mean of each cell, and as a further component its radius less the mean one.
 * @param means of the cells less that of all rows, concatenated. @param radii see `cellsLayout`.
 */
export function finderPoints(means: Float32Array, radii: Float32Array): Float32Array {
  const dimensions = means.length / radii.length
  const middle = meanOf(radii)
  const points = new Float32Array(radii.length * (dimensions + 1))
  for (const [cell, radius] of radii.entries()) {
    points.set(means.subarray(cell * dimensions, (cell + 1) * dimensions), cell * (dimensions + 1))
    points[(cell + 1) * (dimensions + 1) - 1] = radius - middle
  }
  return points
}

/** What is asked of the graph. */
export function finderQuery(query: Float32Array): Float32Array {
  const asked = new Float32Array(query.length + 1)
  asked.set(query)
  asked[query.length] = radiusWeight(query.length)
  return asked
}

/** @param graph of `finderPoints`. @param scale factor from its products to those of points and queries. */
export function createCellFinder(graph: Graph, radii: Float32Array, dimensions: number, scale: number): CellFinder {
  const weight = radiusWeight(dimensions)
  const middle = meanOf(radii)
  const least = radii.reduce((a, b) => Math.min(a, b), Infinity)
  const most = radii.reduce((a, b) => Math.max(a, b), 0)
  return {
    nearest(query, count) {
      const { points: cells, products } = graph.nearest(finderQuery(query), count)
      for (let at = 0; at < cells.length; at++)
        products[at] = (products[at] ?? 0) * scale - weight * ((radii[cells[at] ?? 0] ?? 0) - middle)
      return { cells, products }
    },
    mostFrom(cell, product, perRadius) {
      const beyond = perRadius - weight
      return product + weight * (radii[cell] ?? 0) + beyond * (beyond > 0 ? most : least)
    },
  }
}

function meanOf(values: Float32Array): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
}
