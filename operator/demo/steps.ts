import type { LocalService } from '#operator/demo/local/processes.ts'

/** A service that ends sooner would end again. */
const RUN_MIN_MS = 2_000

export type Steps = ReturnType<typeof createSteps>

/** Reports progress step by step, and undoes the steps in reverse order on stop. */
export function createSteps(output: { write(text: string): unknown }) {
  const undos: (() => Promise<unknown>)[] = []
  let stopping: Promise<never> | undefined
  const stop = (exitCode: number): Promise<never> => (stopping ??= stopAll(exitCode))

  async function stopAll(exitCode: number): Promise<never> {
    // Steps that are registered while this runs are undone too.
    for (let undo = undos.pop(); undo !== undefined; undo = undos.pop())
      await undo().catch((error: unknown) =>
        output.write(`${error instanceof Error ? error.message : 'a process did not stop'}\n`),
      )
    process.exit(exitCode)
  }
  return {
    async run<T>(name: string, work: () => Promise<T>): Promise<T> {
      const began = performance.now()
      output.write(`${name} … `)
      const result = await work()
      output.write(`ready after ${((performance.now() - began) / 1_000).toFixed(1)} s\n`)
      return result
    },
    /** A line below the running step. */
    note: (line: string) => void output.write(`  ${line.replaceAll('\n', '\n  ')}\n`),
    print: (text: string) => void output.write(`\n${text}\n`),
    onStop: (undo: () => Promise<unknown>) => void undos.push(undo),
    /**
     * Watches a service. If it ends by itself, its last log lines are printed, and it is started again where that is
     * given and it did not end soon after its start. Otherwise everything stops.
     */
    watch(first: LocalService, again?: () => Promise<LocalService>) {
      let service = first
      undos.push(() => service.stop())
      async function follow(startedMs: number): Promise<void> {
        const reason: unknown = await service.ended.catch((error: unknown) => error)
        if (stopping !== undefined) return
        output.write(`\n${reason instanceof Error ? reason.message : service.name}\n`)
        const next =
          again === undefined || performance.now() - startedMs < RUN_MIN_MS
            ? undefined
            : await again().catch(() => undefined)
        if (next === undefined) return void stop(1)
        service = next
        output.write(`${service.name} runs again.\n`)
        await follow(performance.now())
      }
      void follow(performance.now())
    },
    isStopping: () => stopping !== undefined,
    /**
     * Stops on SIGINT, SIGTERM and SIGHUP, and when the parent has ended (its IPC channel closes).
     * @param exitCode called when the signal arrives; 0 unless given.
     */
    stopOnSignals(exitCode: () => number = () => 0) {
      const onSignal = (): void => {
        if (stopping !== undefined) return
        output.write('\nStopping …\n')
        void stop(exitCode())
      }
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
      if (process.send !== undefined) process.on('disconnect', onSignal)
    },
    stop,
  }
}
