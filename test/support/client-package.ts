import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { installDebianPackage } from '#operator/demo/local/debian-package.ts'
import { outputOf } from '#operator/demo/local/supervised-process.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

/** Packs the TypeScript client and unpacks it in a folder, where programs then import it by its name. */
export async function installClient(folder: string): Promise<void> {
  const checkout = join(folder, 'checkout')
  for (const path of ['tsconfig.json', 'clients/typescript', 'jobs/trace/verify-reply.mjs'])
    cpSync(join(ROOT, path), join(checkout, path), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'))
  const cwd = join(checkout, 'clients/typescript')
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd })
  const installed = join(folder, 'node_modules/evidence-retrieval-client')
  mkdirSync(installed, { recursive: true })
  const file = stdout.trim().split('\n').at(-1) ?? ''
  await run('tar', ['xzf', join(folder, file), '-C', installed, '--strip-components=1'])
}

const findPython = (): string | undefined => outputOf('/bin/sh', ['-c', 'command -v python3'])?.trim()

/** Runs a Python program that can import the client. @returns its standard output. */
export async function runPython(program: string, args: readonly string[], environment: object = {}): Promise<string> {
  const python = findPython() ?? (installDebianPackage('python3') ? findPython() : undefined)
  if (python === undefined) throw new Error('python3 is missing: install it, and run the tests again')
  const env = { PATH: process.env['PATH'], PYTHONPATH: join(ROOT, 'clients/python'), PYTHONDONTWRITEBYTECODE: '1' }
  return (await run(python, ['-c', program, ...args], { env: { ...env, ...environment } })).stdout
}
