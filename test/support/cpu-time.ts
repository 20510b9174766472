/** CPU time that synchronous work takes. Unlike elapsed time, it does not grow with the load of the machine. */
export function cpuMs(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}
