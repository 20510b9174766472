/** Memory that all threads share and WebAssembly addresses. It is freed when its last handle is collected. */
export interface SharedMemory {
  readonly buffer: SharedArrayBuffer
}

/** The part of the JavaScript API that is used; its types come with those of browsers only. */
declare const WebAssembly: {
  readonly Memory: new (limits: {
    readonly initial: number
    readonly maximum: number
    readonly shared: true
  }) => SharedMemory
}

/** Page size of WebAssembly. */
export const PAGE_BYTES = 65_536

/** @returns memory of at least this many bytes, all of them zero. @throws RangeError past 4 GiB. */
export function createSharedMemory(bytes: number): SharedMemory {
  const pages = Math.max(1, Math.ceil(bytes / PAGE_BYTES))
  return new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true })
}

export function isSharedMemory(value: unknown): value is SharedMemory {
  return value instanceof WebAssembly.Memory
}
