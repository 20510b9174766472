/** Independent sequences of random numbers, one for each kind of thing that is drawn. */
const PARTS = {
  documents: 1,
  provisions: 2,
  texts: 3,
  queries: 4,
  space: 5,
  'document vectors': 6,
  'provision vectors': 7,
  'passage vectors': 8,
} as const
export type Part = keyof typeof PARTS

const ROUNDS = 12

/**
 * Random numbers of one thing by its one or two numbers, each uniform in [0, 1). They do not depend on earlier draws,
 * so any row can be generated on its own. The generator is sfc32 of PractRand with 128 bits of state, of which seed,
 * part and numbers are the start.
 */
export function streamAt(seed: number, part: Part, first: number, second = 0): () => number {
  let [a, b, c, counter] = [seed >>> 0, (PARTS[part] << 24) ^ (second >>> 0), first >>> 0, 1]
  function next(): number {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + sum
    return (sum >>> 0) / 4_294_967_296
  }
  for (let round = 0; round < ROUNDS; round++) next()
  return next
}

/** Fills with standard normal values, by Box and Muller. */
export function fillGaussian(values: Float32Array, random: () => number): void {
  for (let at = 0; at < values.length; at += 2) {
    const radius = Math.sqrt(-2 * Math.log(1 - random()))
    const angle = 2 * Math.PI * random()
    values[at] = radius * Math.cos(angle)
    if (at + 1 < values.length) values[at + 1] = radius * Math.sin(angle)
  }
}

/** @returns one standard normal value. */
export function gaussian(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}
