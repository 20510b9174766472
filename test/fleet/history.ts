import { createWriteStream, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { once } from 'node:events'

export type History = ReturnType<typeof openHistory>

/** What happened, one JSON object a line, in the order in which it became known. */
export function openHistory(file: string) {
  mkdirSync(dirname(file), { recursive: true })
  const stream = createWriteStream(file)
  return {
    /** @param event `schedule`, `request`, `fault`, `operation`, `ended`, `truth` or `violation`. */
    write: (event: string, more: object) =>
      void stream.write(`${JSON.stringify({ at: new Date().toISOString(), event, ...more })}\n`),
    async close() {
      stream.end()
      await once(stream, 'close')
    },
  }
}
