import { request as ask, type IncomingMessage, type ServerResponse } from 'node:http'
import { startJsonServer } from './json-server.ts'

/**
 * `cut`: half of the body, then the connection ends. `wrong`: the first byte differs. `silent`: no answer. `lost`: the
 * server did it, and its answer is lost. An error: the server's answer instead, with its code.
 */
type Fault = 'cut' | 'wrong' | 'silent' | 'lost' | { readonly status: number; readonly code: string }

/** A proxy before a server that speaks S3. Signatures hold through it, because it passes the name of the host on. */
export async function startObjectFaults(endpoint: string) {
  const target = new URL(endpoint)
  const calls: string[] = []
  let armed: { readonly of: RegExp; readonly fault: Fault; left: number; earlier: number } | undefined

  function take(call: string): Fault | undefined {
    calls.push(call)
    if (armed === undefined || armed.left === 0 || !armed.of.test(call)) return undefined
    if (armed.earlier > 0) return void armed.earlier--
    armed.left--
    return armed.fault
  }
  function answer(incoming: IncomingMessage, response: ServerResponse): void {
    const fault = take(`${incoming.method} ${incoming.url} ${incoming.headers.range ?? ''}`)
    if (typeof fault === 'object') {
      incoming.resume()
      const body = `<Error><Code>${fault.code}</Code><Message>${fault.code}</Message></Error>`
      response.writeHead(fault.status, { 'content-type': 'application/xml' }).end(fault.status < 400 ? '' : body)
      return
    }
    if (fault === 'silent') return
    const { method, url: path, headers } = incoming
    const passed = ask({ host: target.hostname, port: target.port, method, path, headers }, (reply) => {
      const chunks: Buffer[] = []
      reply.on('data', (chunk: Buffer) => chunks.push(chunk))
      reply.on('end', () => {
        const body = Buffer.concat(chunks)
        if (fault === 'lost') return void response.destroy()
        if (fault === 'wrong') body.writeUInt8((body.readUInt8(0) + 1) % 256, 0)
        response.writeHead(reply.statusCode ?? 500, reply.headers)
        if (fault !== 'cut') return void response.end(body)
        return void response.write(body.subarray(0, body.length / 2), () => response.destroy())
      })
    })
    passed.on('error', () => response.destroy())
    incoming.pipe(passed)
  }
  const { baseUrl, stop } = await startJsonServer(answer)
  return {
    endpoint: new URL(baseUrl).origin,
    /** Calls as `METHOD /path range`, since the last look. */
    calls: () => calls.splice(0),
    /** The next calls that match fail so, after so many that pass. */
    fail: (of: RegExp, fault: Fault, times: number, earlier = 0) => {
      armed = { of, fault, left: times, earlier }
    },
    /** Every call passes. @returns how many failures were left. */
    pass() {
      const left = armed?.left ?? 0
      armed = undefined
      return left
    },
    stop,
  }
}
