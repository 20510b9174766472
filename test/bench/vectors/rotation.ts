/**
 * A random rotation, so that no direction of the content is a coordinate: layers of plane rotations over random pairs,
 * which cost dimensions × log(dimensions) instead of dimensions².
 */
export interface Rotation {
  /** In place. */
  apply(vector: Float32Array): void
}

/** Layers beyond log2 of the dimensions, so that pairs meet by more than one way. */
const FURTHER_LAYERS = 2

export function createRotation(dimensions: number, random: () => number): Rotation {
  const layers = Array.from({ length: Math.ceil(Math.log2(dimensions)) + FURTHER_LAYERS }, () => {
    const pairs = shuffled(dimensions, random)
    const angles = Array.from({ length: dimensions >> 1 }, () => 2 * Math.PI * random())
    return { pairs, cosines: Float64Array.from(angles, Math.cos), sines: Float64Array.from(angles, Math.sin) }
  })
  return {
    apply(vector) {
      for (const { pairs, cosines, sines } of layers) {
        for (let at = 0; at < cosines.length; at++) {
          const one = pairs[2 * at] ?? 0
          const other = pairs[2 * at + 1] ?? 0
          const x = vector[one] ?? 0
          const y = vector[other] ?? 0
          const cosine = cosines[at] ?? 0
          const sine = sines[at] ?? 0
          vector[one] = cosine * x - sine * y
          vector[other] = sine * x + cosine * y
        }
      }
    },
  }
}

/** A random order of 0 to `count` - 1, by Fisher and Yates. */
function shuffled(count: number, random: () => number): Uint16Array<ArrayBuffer> {
  const order = Uint16Array.from({ length: count }, (_, at) => at)
  for (let last = count - 1; last > 0; last--) {
    const at = Math.floor(random() * (last + 1))
    const value = order[last] ?? 0
    order[last] = order[at] ?? 0
    order[at] = value
  }
  return order
}
