/** Output for progress: standard error, so that standard output holds only the result. */
export interface ProgressOutput {
  readonly isTTY?: boolean | undefined
  write(text: string): unknown
}

export type Progress = ReturnType<typeof createProgress>

const LINE_EVERY_MS = 2_000
const REDRAW_EVERY_MS = 100
/** Before, a stage says too little of its pace. */
const PACE_AFTER_MS = 5_000

/**
 * Rewrites one line on a terminal. Elsewhere writes a plain line for each stage, and every two seconds within a stage.
 */
export function createProgress(output: ProgressOutput, now: () => number = () => performance.now()) {
  const terminal = output.isTTY === true
  let stage = ''
  let shownAt = -Infinity
  let shown = ''
  let began = { ms: 0, done: 0 }
  function show(line: string): void {
    if (line === shown) return
    shown = line
    shownAt = now()
    output.write(terminal ? `\r\u001b[2K${line}` : `${line}\n`)
  }
  let latest = ''
  return {
    /** `total` 0: unknown; `more` follows the numbers, then the time that is left. */
    update(nextStage: string, done = 0, total = 0, more = ''): void {
      if (nextStage !== stage) began = { ms: now(), done }
      const left = timeLeft(now() - began.ms, done - began.done, total - done)
      latest = [progressLine(nextStage, done, total), more, left].filter((part) => part !== '').join(', ')
      const due = now() - shownAt >= (terminal ? REDRAW_EVERY_MS : LINE_EVERY_MS)
      if (nextStage !== stage || due) show(latest)
      stage = nextStage
    },
    /** Ends the progress and keeps the last line. */
    end(): void {
      if (latest !== '') show(latest)
      if (terminal && shown !== '') output.write('\n')
      latest = shown = stage = ''
      shownAt = -Infinity
    },
  }
}

/** At the pace of the stage so far; empty where that or the total is unknown. */
function timeLeft(tookMs: number, done: number, open: number): string {
  if (tookMs < PACE_AFTER_MS || done <= 0 || open <= 0) return ''
  const seconds = Math.ceil((tookMs * open) / done / 1000)
  return `about ${seconds < 100 ? `${seconds} s` : `${Math.round(seconds / 60)} min`} left`
}

function progressLine(stage: string, done: number, total: number): string {
  if (total > 0) return `${stage}: ${done} of ${total} (${Math.floor((done / total) * 100)} %)`
  return done > 0 ? `${stage}: ${done}` : `${stage} …`
}
