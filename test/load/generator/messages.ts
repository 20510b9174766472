import { z } from 'zod'
import { recordSchema } from '../record.ts'

const behaviourSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('hang up'), afterMs: z.number() }),
  z.strictObject({ kind: z.literal('read slowly'), pauseMs: z.number() }),
])

/** A request as the generator sends it; an arrival with key, gateway and number chosen. */
const outgoingSchema = z.strictObject({
  n: z.int(),
  /** Number of the request that follows a refusal with Retry-After; null: none does. */
  probeN: z.int().nullable(),
  atMs: z.number(),
  tenant: z.string(),
  secret: z.string(),
  unknownKey: z.boolean(),
  gateway: z.int(),
  query: z.string(),
  idempotencyKey: z.string().nullable(),
  behaviour: behaviourSchema.nullable(),
  from: z.string().nullable(),
})
export type Outgoing = z.infer<typeof outgoingSchema>

export const toGenerator = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('offer'),
    id: z.int(),
    phase: z.string(),
    /** Base URLs of the gateways. */
    targets: z.array(z.string()),
    knowledgeBase: z.string(),
    clockOffsetMs: z.number(),
    /** Longest Retry-After that is waited for. */
    probeWaitMaxMs: z.number(),
    requests: z.array(outgoingSchema),
  }),
  /** Sends nothing more; what is under way is finished. */
  z.strictObject({ kind: z.literal('stop') }),
])
export type ToGenerator = z.infer<typeof toGenerator>
export type Offer = Extract<ToGenerator, { readonly kind: 'offer' }>

export const fromGenerator = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('ready') }),
  z.strictObject({ kind: z.literal('records'), id: z.int(), records: z.array(recordSchema) }),
  z.strictObject({ kind: z.literal('done'), id: z.int() }),
])
export type FromGenerator = z.infer<typeof fromGenerator>
