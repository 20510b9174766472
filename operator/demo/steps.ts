import type { LocalService } from '#operator/demo/local/processes.ts'

/** Reports progress step by step, and undoes the steps in reverse order on stop. */
export interface Steps {
  run<T>(name: string, work: () => Promise<T>): Promise<T>
  /** A line below the running step. */
  note(line: string): void
  print(text: string): void
  onStop(undo: () => Promise<unknown>): void
  /**
   * Watches a service. If it ends by itself, its last log lines are printed, and it is started again where that is
   * given and it did not end soon after its start. Otherwise everything stops.
   */
  watch(service: LocalService, again?: () => Promise<LocalService>): void
  /**
   * Stops on SIGINT, SIGTERM and SIGHUP, and when the parent has ended (its IPC channel closes).
   * @param exitCode called when the signal arrives; 0 unless given.
   */
  stopOnSignals(exitCode?: () => number): void
  isStopping(): boolean
  stop(exitCode: number): Promise<never>
}

/** A service that ends sooner would end again. */
const RUN_MIN_MS = 2_000

export function createSteps(output: { write(text: string): unknown }): Steps {
  const undos: (() => Promise<unknown>)[] = []
  let stopping: Promise<never> | undefined

  async function stopAll(exitCode: number): Promise<never> {
    // Steps that are registered while this runs are undone too.
    for (let undo = undos.pop(); undo !== undefined; undo = undos.pop())
      await undo().catch((error: unknown) =>
        output.write(`${error instanceof Error ? error.message : 'a process did not stop'}\n`),
      )
    process.exit(exitCode)
  }
  const steps: Steps = {
    run: async (name, work) => {
      const began = performance.now()
      output.write(`${name} … `)
      const result = await work()
      output.write(`ready after ${((performance.now() - began) / 1_000).toFixed(1)} s\n`)
      return result
    },
    note: (line) => void output.write(`  ${line.replaceAll('\n', '\n  ')}\n`),
    print: (text) => void output.write(`\n${text}\n`),
    onStop: (undo) => void undos.push(undo),
    watch: (first, again) => {
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
        if (next === undefined) return void steps.stop(1)
        service = next
        output.write(`${service.name} runs again.\n`)
        await follow(performance.now())
      }
      void follow(performance.now())
    },
    isStopping: () => stopping !== undefined,
    stopOnSignals: (exitCode = () => 0) => {
      const onSignal = (): void => {
        if (stopping !== undefined) return
        output.write('\nStopping …\n')
        void steps.stop(exitCode())
      }
      process.on('SIGINT', onSignal)
      process.on('SIGTERM', onSignal)
      process.on('SIGHUP', onSignal)
      if (process.send !== undefined) process.on('disconnect', onSignal)
    },
    stop: (exitCode) => (stopping ??= stopAll(exitCode)),
  }
  return steps
}
