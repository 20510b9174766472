import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { PAGE_BYTES } from '#core/index/storage/shared-memory.ts'
import type { SharedMemory } from '#core/index/storage/shared-memory.ts'

/** Memory of one instance of a module. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer
  grow(pages: number): number
}

/** Memory that a module imports, by the names that it gives them. */
export type WasmImports = Readonly<Record<string, Readonly<Record<string, SharedMemory>>>>

/** The part of the JavaScript API that is used; its types come with those of browsers only. */
declare const WebAssembly: {
  readonly Memory: new (limits: { readonly initial: number }) => WasmMemory
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: WasmImports) => { readonly exports: unknown }
}

/** An exported memory, in a schema of exports. */
export const wasmMemory = z.custom<WasmMemory>((value) => value instanceof WebAssembly.Memory)

/** An exported function, in a schema of exports. */
export function wasmFunction<Function>(): z.ZodType<Function> {
  return z.custom<Function>((value) => typeof value === 'function')
}

/** Compiles a module. @returns a function that makes an instance and returns its exports. */
export function compileWasm(file: URL): (imports?: WasmImports) => unknown {
  const compiled = new WebAssembly.Module(readFileSync(file))
  return (imports = {}) => new WebAssembly.Instance(compiled, imports).exports
}

/** Grows a memory of one page to at least this many bytes. @throws RangeError past 4 GiB. */
export function growTo(memory: WasmMemory, bytes: number): void {
  memory.grow(Math.ceil(bytes / PAGE_BYTES) - 1)
}
