import { sha256 } from '#core/platform/digest.ts'

const SLOTS_AT_START = 1024

/**
 * Counts how often each key was added. It keeps 64 bits of the key's SHA-256 and a 32-bit count: at most 48 bytes per
 * key. The probability of a collision among a million different keys is below 10⁻⁷.
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

  /** Returns how often the key was added. */
  count(key: string): number {
    return this.#counts[this.#slotOf(...hashOf(key))] ?? 0
  }

  /** Adds the key and returns how often it was added before. */
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

  /** Returns the key's slot, or the free slot for it (linear probing; at least half of the slots are free). */
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
  const digest = sha256(key)
  return [digest.readUInt32LE(0), digest.readUInt32LE(4)]
}
