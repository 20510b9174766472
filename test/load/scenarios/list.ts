import { calendar } from './calendar.ts'
import { concurrency } from './concurrency.ts'
import { crawl } from './crawl.ts'
import { disconnects } from './disconnects.ts'
import { idempotencyKeys } from './idempotency.ts'
import { keysByAddress } from './keys-by-address.ts'
import { minute } from './minute.ts'
import { overload } from './overload.ts'
import { saturation } from './saturation.ts'
import type { Scenario } from './scenario.ts'
import { mixedTenants } from './tenants.ts'

/** In the order in which they run. */
export const SCENARIOS: readonly Scenario[] = [
  concurrency,
  minute,
  calendar,
  idempotencyKeys,
  crawl,
  disconnects,
  keysByAddress,
  saturation,
  mixedTenants,
  overload,
]
