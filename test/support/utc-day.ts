import { setTimeout as sleep } from 'node:timers/promises'
import { DAY_MS } from '#core/platform/time.ts'

/** Longer than a file takes whose requests count on one UTC day. */
const FILE_MAX_MS = 180_000

/** A file does not begin so late that midnight would part what it counts: allowances, exposure, what is in force. */
const leftMs = DAY_MS - (Date.now() % DAY_MS)
if (leftMs < FILE_MAX_MS) await sleep(leftMs)
