import type { ReaderParameters } from '#core/domain/retrieval-profile.ts'
import { createReader, type Reader, type ReaderSettings } from '#core/reading/reader.ts'
import { passagesToRead, scoredList } from '#core/reading/scored-list.ts'
import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'
import { askModel, type ModelUse } from './ask-model.ts'
import type { Slot } from './concurrency-limit.ts'
import { openedOnFirstUse } from './opened.ts'
import type { RequestContext } from './request-context.ts'
import type { PinnedRequest } from './pin.ts'
import type { Evidence } from './search.ts'
import { timeLeft } from './time-left.ts'

export type ReaderUse = ModelUse<'read'>

/** Returns the reader of a profile; opens it on first use. */
export type ReaderOf = (parameters: ReaderParameters) => Reader

export function readersOf(settings: ReaderSettings): ReaderOf {
  return openedOnFirstUse(
    GATEWAY_BOUNDS.modelsOpenMax,
    ({ kind, model, prompt_sha256: prompt }) => JSON.stringify([kind, model, prompt]),
    (parameters) => createReader(parameters, settings),
  )
}

/**
 * Has the profile's reader score the first passages, with the slot free for other requests, and applies its scores: they
 * order the list, decide, or both. Without a reader returns the list unchanged. A profile was evaluated with its order,
 * so a reader that orders and fails fails the request. Where its scores only decide, the profile says whether the
 * calibration without the reader decides instead. A chat model is asked only where the entitlement allows it.
 * @param use takes what was used, also where this throws.
 * @throws ServiceError RETRIEVAL_UNAVAILABLE when the endpoint fails or this gateway has none, unless the profile decides
 * without.
 */
export async function read(
  readerOf: ReaderOf,
  context: RequestContext,
  { pinned, slot }: { readonly pinned: PinnedRequest; readonly slot: Pick<Slot, 'whileReleased'> },
  found: Evidence,
  use: ReaderUse,
): Promise<Evidence> {
  const { reader } = pinned.profile.parameters
  if (reader === null || (reader.kind === 'chat' && !pinned.assistance)) return found
  const passages = passagesToRead(reader, found.passages)
  if (passages.length === 0) return { ...found, ...scoredList(reader, found.passages, [], pinned.topK) }
  const asking = { slot, use, done: 'read', onFailure: reader.on_failure } as const
  const reading = await askModel(context, asking, () =>
    readerOf(reader).read(pinned.query, passages, context.signal, timeLeft('read', context, pinned)),
  )
  if (reading === undefined) return found
  return { ...found, ...scoredList(reader, found.passages, reading.scores, pinned.topK) }
}
