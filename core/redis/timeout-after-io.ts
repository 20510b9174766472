/**
 * Calls `run` after a time and one more turn of the event loop. A reply that arrived while the event loop was busy is
 * read first.
 * @returns a function that cancels the call.
 */
export function setTimeoutAfterIo(delayMs: number, run: () => void): () => void {
  let turn: NodeJS.Immediate | undefined
  const timer = setTimeout(() => (turn = setImmediate(run)), delayMs)
  return () => {
    clearTimeout(timer)
    clearImmediate(turn)
  }
}
