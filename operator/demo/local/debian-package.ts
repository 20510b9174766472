import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { outputOf } from './supervised-process.ts'

const INSTALL_TIMEOUT_MS = 600_000
const ENVIRONMENT = {
  PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
  LC_ALL: 'C',
  TZ: 'UTC',
  DEBIAN_FRONTEND: 'noninteractive',
}
/** Debian's policy script: exit code 101 stops a package from starting its service on installation. */
const SERVICE_POLICY = '/usr/sbin/policy-rc.d'

/**
 * Installs a package of the distribution, as root on Debian or Ubuntu, without starting its service.
 * @returns whether it was tried; the caller looks for its program.
 */
export function installDebianPackage(name: string, say?: (line: string) => void): boolean {
  if (process.getuid?.() !== 0 || outputOf('/bin/sh', ['-c', 'command -v apt-get']) === undefined) return false
  say?.(`${name} is missing: installing Debian's package.`)
  const ownPolicy = !existsSync(SERVICE_POLICY)
  if (ownPolicy) writeFileSync(SERVICE_POLICY, '#!/bin/sh\nexit 101\n')
  if (ownPolicy) chmodSync(SERVICE_POLICY, 0o755)
  try {
    const quiet = ['-qq', '-o', 'DPkg::Lock::Timeout=120']
    const run = (...args: readonly string[]): void => {
      spawnSync('apt-get', [...quiet, ...args], { stdio: 'ignore', timeout: INSTALL_TIMEOUT_MS, env: ENVIRONMENT })
    }
    run('update')
    run('install', '--yes', '--no-install-recommends', name)
  } finally {
    if (ownPolicy) rmSync(SERVICE_POLICY, { force: true })
  }
  return true
}
