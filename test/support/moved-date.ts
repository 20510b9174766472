import { readFileSync } from 'node:fs'

/**
 * Loaded before a service's `main.ts` as `moved-date.ts?file=PATH`: its clock is moved by the milliseconds that the file
 * holds, whenever it is read. Programs that the service starts have the same clock.
 */
const file = new URL(import.meta.url).searchParams.get('file') ?? ''
const real = Date.now.bind(Date)
Date.now = () => real() + Number(readFileSync(file, 'utf8'))
