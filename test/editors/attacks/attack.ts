import type { BuiltLaw, Laboratory } from '../laboratory.ts'
import type { Draw } from '../draw.ts'
import type { Violation } from '../oracle.ts'

/** An attack on what is on record, not on what is handed in. */
export interface Attack {
  readonly name: string
  readonly row: string
  run(laboratory: Laboratory, law: BuiltLaw, draw: Draw): Promise<AttackResult>
}

export interface AttackResult {
  /** One line for the report of a case. */
  readonly what: string
  /** Undefined: nothing refused it. */
  readonly refused: string | undefined
  readonly violations: readonly Violation[]
}

/** Returns the message of what was thrown; undefined if nothing was. */
export async function refusalOf(work: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : 'refused'
  }
}
