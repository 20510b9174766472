import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { RequestRecord } from '../record.ts'
import { fromGenerator } from './messages.ts'
import type { Offer, ToGenerator } from './messages.ts'

/** The process that sends requests. */
export interface Generator {
  readonly pid: number
  /**
   * Resolves when every request of the offer has ended, or after `stop` those that were under way.
   * @throws Error when the process has ended.
   */
  offer(offer: Omit<Offer, 'kind' | 'id'>, onRecords: (records: readonly RequestRecord[]) => void): Promise<void>
  /** Nothing more is sent. */
  stop(): void
  close(): Promise<void>
}

interface Pending {
  readonly onRecords: (records: readonly RequestRecord[]) => void
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

export async function startGenerator(): Promise<Generator> {
  const script = fileURLToPath(new URL('./main.ts', import.meta.url))
  // A session of its own, so that Ctrl-C reaches only the parent.
  const child = fork(script, [], {
    execArgv: [],
    serialization: 'advanced',
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const ready = Promise.withResolvers<void>()
  const pending = new Map<number, Pending>()
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  let offers = 0
  child.on('message', (message) => {
    const parsed = fromGenerator.parse(message)
    if (parsed.kind === 'ready') return ready.resolve()
    const offer = pending.get(parsed.id)
    if (parsed.kind === 'records') return offer?.onRecords(parsed.records)
    pending.delete(parsed.id)
    offer?.resolve()
  })
  void exited.then(() => {
    const ended = new Error('the load generator ended unexpectedly')
    ready.reject(ended)
    for (const { reject } of pending.values()) reject(ended)
  })
  const tell = (message: ToGenerator): void => void child.send(message)
  await ready.promise
  return {
    pid: child.pid ?? 0,
    offer: (offer, onRecords) =>
      new Promise((resolve, reject) => {
        if (!child.connected) return reject(new Error('the load generator has ended'))
        const id = offers++
        pending.set(id, { onRecords, resolve, reject })
        tell({ kind: 'offer', id, ...offer })
      }),
    stop: () => {
      if (child.connected) tell({ kind: 'stop' })
    },
    close: async () => {
      if (child.connected) child.disconnect()
      await exited
    },
  }
}
