import { concurrencyCap, dayAllowance, minuteRate, monthAllowance } from './caps.ts'
import { askedFor, chargedOnce, ledgerRow, refusedFree, unavailableRefunded } from './charges.ts'
import type { Check } from './check.ts'
import { exposureMarks } from './exposure.ts'
import { answered, catalogue, idempotency, unknownKeys } from './replies.ts'
import { retryAfter } from './retry-after.ts'
import { refusedWithRoom } from './room.ts'
import { countersAgree, leasesEnd } from './settled.ts'

/** Every check judges every scenario. */
export const CHECKS: readonly Check[] = [
  concurrencyCap,
  minuteRate,
  dayAllowance,
  monthAllowance,
  refusedWithRoom,
  retryAfter,
  leasesEnd,
  chargedOnce,
  refusedFree,
  unavailableRefunded,
  ledgerRow,
  askedFor,
  countersAgree,
  catalogue,
  answered,
  idempotency,
  exposureMarks,
  unknownKeys,
]
