import { BlockList, isIP } from 'node:net'

/** Networks that are not the public internet (IANA special-purpose registries, RFC 6890). */
const PRIVATE: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]
/** Everything but global unicast; of that, documentation, benchmarks and tunnels, which may lead inside. */
const PUBLIC_V6 = ['2000::', 3] as const
const PRIVATE_V6: readonly (readonly [network: string, prefix: number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

const blocked = new BlockList()
for (const [network, prefix] of PRIVATE) blocked.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of PRIVATE_V6) blocked.addSubnet(network, prefix, 'ipv6')
const global = new BlockList()
global.addSubnet(...PUBLIC_V6, 'ipv6')

/** Whether an IP address belongs to the public internet; a mapped address counts as the one that it maps. */
export function isPublic(address: string): boolean {
  const version = isIP(address)
  if (version === 4) return !blocked.check(address, 'ipv4')
  return version === 6 && global.check(address, 'ipv6') && !blocked.check(address, 'ipv6')
}
