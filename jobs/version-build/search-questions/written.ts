import { dirname, join } from 'node:path'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { passagesIn } from '#core/index/passages/records.ts'
import type { PlacedExpansion } from '#core/index/query-expansions/writer.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { BUILD_BOUNDS } from '#jobs/version-build/bounds.ts'
import type { BuildContext } from '#jobs/version-build/context.ts'
import { batchesOf, inGroups } from '#jobs/version-build/row-files.ts'
import { passagesFile } from '#jobs/version-build/sort.ts'
import { forEachConcurrently } from '#core/platform/for-each-concurrently.ts'
import type { QuestionWriter } from './writer.ts'
import { z } from 'zod'
import { openReplyCache, type ReplyCache } from '#jobs/evaluation/reply-cache.ts'

type WritingContext = Pick<BuildContext, 'workFolder' | 'store' | 'vectors' | 'progress' | 'warn' | 'signal'>

/**
 * Has a model write search questions for every passage, and tells the price in tokens before the first is sent. What
 * the model wrote before, for this build or another one, is not sent again.
 * @returns rows ascending.
 * @throws OperatorError when the endpoint refuses, or the model writes nothing that can be used.
 */
export async function writtenQuestions(context: WritingContext, passages: number, writer: QuestionWriter) {
  const { workFolder, vectors, store, signal } = context
  const shared = vectors.cache === undefined ? workFolder : dirname(store.vectorCacheFile)
  const cache = await openReplyCache(join(shared, 'search-questions.jsonl'), questionsSchema)
  await tellPrice(context, writer, cache)
  const placed: PlacedExpansion[] = []
  let row = 0
  for await (const group of inGroups(passagesIn(passagesFile(workFolder)), BUILD_BOUNDS.vectorFileRows)) {
    signal.throwIfAborted()
    await writeMissing(context, writer, cache, group)
    for (const passage of group) {
      const { source_id: id, metadata } = passage
      const { questions = [] } = cache.get(writer.keyOf(passage)) ?? {}
      for (const q of questions) placed.push({ row, id, lang: metadata.language, q })
      row += 1
    }
    if (placed.length > BUILD_BOUNDS.searchQuestionsMax)
      throw new OperatorError(
        `The version would have more than ${BUILD_BOUNDS.searchQuestionsMax} search questions: build it without them.`,
      )
    context.progress.at(row, passages)
  }
  if (placed.length > 0) return placed
  throw new OperatorError(
    `The model ${writer.model} wrote no search question that can be used: choose another --chat-model.`,
  )
}

async function tellPrice({ workFolder, warn }: WritingContext, writer: QuestionWriter, cache: QuestionCache) {
  let [left, sent, written] = [0, 0, 0]
  for await (const passage of passagesIn(passagesFile(workFolder))) {
    if (cache.get(writer.keyOf(passage)) !== undefined) continue
    const tokens = writer.tokensFor(passage)
    left += 1
    sent += tokens.sent
    written += tokens.written
  }
  if (left > 0)
    warn(
      `search questions of ${left} passages are asked of ${writer.model}: about ${sent} tokens are sent, and at most ` +
        `${written} are written`,
    )
}

async function writeMissing(
  { vectors, signal }: WritingContext,
  writer: QuestionWriter,
  cache: QuestionCache,
  group: readonly PassageRecord[],
): Promise<void> {
  const missing = new Map<string, PassageRecord>()
  for (const passage of group) {
    const key = writer.keyOf(passage)
    if (cache.get(key) === undefined) missing.set(key, passage)
  }
  await forEachConcurrently(
    batchesOf([...missing], BUILD_BOUNDS.searchQuestionBatchPassages),
    vectors.concurrency,
    async (batch, _index, either) => {
      const lists = await writer.write(
        batch.map(([, passage]) => passage),
        either,
      )
      await cache.add(batch.map(([key], at) => [key, { questions: lists[at] ?? [] }]))
    },
    signal,
  )
}

/** Empty: the model wrote none that can be used. */
const questionsSchema = z.object({ questions: z.array(z.string().min(1)).readonly() })
type QuestionCache = ReplyCache<z.infer<typeof questionsSchema>>
