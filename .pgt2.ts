import { startRedis } from './jobs/demo/redis.ts'
const t=performance.now()
try { const r = await startRedis({folder: '/tmp/nb/rx', onLog: console.log}); await r.stop() } catch (e) { console.log(String(e)) }
console.log(performance.now()-t)
