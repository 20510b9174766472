import { execFileSync } from 'node:child_process'

export type Host = ReturnType<NonNullable<ReturnType<typeof openHosts>>['add']>

const ip = (...args: readonly string[]): unknown => execFileSync('ip', args, { stdio: 'pipe', timeout: 10_000 })

/** Network namespaces on a bridge, whose address this process has; undefined where this account may not make them. */
export function openHosts(note: (line: string) => void) {
  const [bridge, subnet] = [`fleet${process.pid}`, `198.18.${process.pid % 256}`]
  const names: string[] = []
  const add = () => {
    const [name, veth, address] = [`${bridge}-${names.length}`, `v${process.pid}-${names.length}`, names.length + 2]
    ip('netns', 'add', name)
    names.push(name)
    ip('link', 'add', veth, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
    ip('link', 'set', veth, 'master', bridge, 'up')
    ip('-n', name, 'addr', 'add', `${subnet}.${address}/24`, 'dev', 'eth0')
    const link = (state: 'up' | 'down') => void ip('-n', name, 'link', 'set', 'eth0', state)
    ip('-n', name, 'link', 'set', 'lo', 'up')
    link('up')
    // What follows the prefix is a process of the host.
    return { address: `${subnet}.${address}`, prefix: ['nsenter', `--net=/run/netns/${name}`], link }
  }
  const stop = (): Promise<void> =>
    Promise.resolve().then(() => {
      for (const name of names) ip('netns', 'del', name)
      ip('link', 'del', bridge)
    })
  try {
    ip('link', 'add', bridge, 'type', 'bridge')
    ip('addr', 'add', `${subnet}.1/24`, 'dev', bridge)
    ip('link', 'set', bridge, 'up')
    // An account may make a bridge and no namespace.
    add()
    note('Each gateway, node and worker is in a network namespace of its own.')
    return { address: `${subnet}.1`, add, stop }
  } catch (error) {
    stop().catch(() => undefined)
    note(`All processes are on loopback: ${error instanceof Error ? error.message : ''}`)
    return undefined
  }
}
