import { readFileSync } from 'node:fs'
import { z } from 'zod'

const faultSchema = z.enum(['none', 'concurrency-off', 'counts-twice', 'late-release', 'exposure-off', 'lost-refund'])
/** Faults that a running gateway can be given. */
export type Fault = z.infer<typeof faultSchema>

/** @param url of a module that `preload.ts` loads; `?file=` names the file that holds the fault in force. */
export function faultOf(url: string): () => Fault {
  const file = new URL(url).searchParams.get('file') ?? ''
  return () => faultSchema.parse(readFileSync(file, 'utf8'))
}
