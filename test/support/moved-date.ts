import { readFileSync } from 'node:fs'

/** Loaded before a service's `main.ts`: its clock is moved by the milliseconds that a file holds, whenever it is read. */
const file = process.env['TEST_CLOCK_FILE'] ?? ''
const real = Date.now.bind(Date)
Date.now = () => real() + Number(readFileSync(file, 'utf8'))
