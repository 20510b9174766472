const STREAM_SAFE_MARKS = 30
const FULL_RUN = new RegExp(`.{${STREAM_SAFE_MARKS}}(?=.)`, 'gsu')

/**
 * Returns NFC of a text. Long runs of combining marks, which no language writes, are divided by U+034F, as in the
 * Stream-Safe Text Format (UAX #15). Normalization sorts the marks of a run, so its time would grow with the square of
 * a run's length: 13 ms for 4,000 marks.
 */
export function streamSafeNfc(text: string): string {
  return text
    .replaceAll(/\p{M}+/gu, (run) => (run.length <= STREAM_SAFE_MARKS ? run : run.replaceAll(FULL_RUN, '$&\u034f')))
    .normalize('NFC')
}
