import { inject } from 'vitest'
import { connectToService } from '#test/support/caller.ts'

const shared = inject('service')

/** The service that all contract tests share. Its connections last as long as the process, which runs several files. */
export const service = connectToService(shared)
export const { providerUrl, providerTokens, readerUrl, readerTimeoutMs } = shared
export const baseUrl = shared.gateways[0]?.baseUrl ?? ''
export const internalUrl = shared.gateways[0]?.internalUrl ?? ''
export const { createCaller } = service
