export const CAPTURE_BOUNDS = {
  sourcesMax: 1_000,
  hostsMax: 20,
  redirectsMax: 5,
  /** One answer, from the first request to the last byte, and the longest silence in it. */
  answerTimeoutMs: 10 * 60_000,
  silenceTimeoutMs: 30_000,
  answerBytesMax: 256 * 1024 * 1024,
  /** Between two requests to one host. */
  hostPauseMs: 1_000,
  headerCharactersMax: 1_000,
  /** A process that reads sources: its time, with all answers of hosts, its memory beside the heap, its processors. */
  captureTimeoutMs: 60 * 60_000,
  residentBeyondHeapMb: 1_024,
  captureCpuSecondsMax: 2 * 60 * 60,
  /** A command that somebody waits for, who may end it; millions of records take an hour. */
  commandTimeoutMs: 12 * 60 * 60_000,
  everyMinutesMin: 5,
  everyMinutesMax: 525_600,
  messageCharactersMax: 2_000,
  capturesShownMax: 20,
  notifyTimeoutMs: 10_000,
} as const
