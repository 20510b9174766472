import { createHash } from 'node:crypto'

const SLOTS_AT_START = 1024

/**
 * Counts how often each key was seen, keeping 64 bits of its SHA-256 and a 32-bit count instead of the key: at most 48
 * bytes a key. Two of a million different keys are taken for one with a probability below 10⁻⁷.
 */
export class CompactCounter {
  #high = new Uint32Array(SLOTS_AT_START)
  #low = new Uint32Array(SLOTS_AT_START)
  #counts = new Uint32Array(SLOTS_AT_START)
  #keys = 0

  /** Distinct keys. */
  get size(): number {
    return this.#keys
  }

  /** How often the key was added. */
  count(key: string): number {
    return this.#counts[this.#slotOf(...hashOf(key))] ?? 0
  }

  /** Adds the key once more; returns how often it had been added before. */
  add(key: string): number {
    if (this.#keys * 2 >= this.#counts.length) this.#grow()
    const [high, low] = hashOf(key)
    const slot = this.#slotOf(high, low)
    const before = this.#counts[slot] ?? 0
    if (before === 0) this.#keys += 1
    this.#high[slot] = high
    this.#low[slot] = low
    this.#counts[slot] = before + 1
    return before
  }

  /** The key's slot, or the free slot where it belongs (linear probing; at least half of the slots are free). */
  #slotOf(high: number, low: number): number {
    const mask = this.#counts.length - 1
    let slot = low & mask
    while (this.#counts[slot] !== 0 && (this.#high[slot] !== high || this.#low[slot] !== low)) slot = (slot + 1) & mask
    return slot
  }

  #grow(): void {
    const [highs, lows, counts] = [this.#high, this.#low, this.#counts]
    const slots = counts.length * 2
    this.#high = new Uint32Array(slots)
    this.#low = new Uint32Array(slots)
    this.#counts = new Uint32Array(slots)
    for (const [old, count] of counts.entries()) {
      if (count === 0) continue
      const [high, low] = [highs[old] ?? 0, lows[old] ?? 0]
      const slot = this.#slotOf(high, low)
      this.#high[slot] = high
      this.#low[slot] = low
      this.#counts[slot] = count
    }
  }
}

function hashOf(key: string): readonly [number, number] {
  const digest = createHash('sha256').update(key).digest()
  return [digest.readUInt32LE(0), digest.readUInt32LE(4)]
}
