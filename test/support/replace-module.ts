import { registerHooks } from 'node:module'

/**
 * Gives every importer of a module another one, which may itself import the original. For modules that a test has a
 * service load before its `main.ts` (`node --import`): the service is the real one, with one part replaced.
 */
export function replaceModule(original: URL, replacement: URL): void {
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const resolved = nextResolve(specifier, context)
      return resolved.url === original.href && context.parentURL !== replacement.href
        ? { ...resolved, url: replacement.href }
        : resolved
    },
  })
}
