/** A thread that checks and reports one request after the other, until it gets a message. It posts how long each pair took. */
import { parentPort, workerData } from 'node:worker_threads';
import { call } from '../../support/http.ts';

const { url } = workerData as { readonly url: string };
const WARM_UP = 100;
const LEAST = 300;

let isOver = false;
parentPort?.once('message', () => {
  isOver = true;
});

const timesMs: number[] = [];
const wrong: string[] = [];
for (let i = 0; !isOver || i < LEAST; i++) {
  const startMs = performance.now();
  const key = { 'x-api-key': `honest ${Math.random()}` };
  const address = { 'x-headgate-client-ip': `10.9.${i % 250}.${Math.floor(Math.random() * 250)}` };
  const { headers } = await call(url, '/envoy/chat', { headers: { ...key, ...address } });
  const { body } = await call(url, '/settle', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: headers['x-headgate-settle'], units: { tokens: 7 } }),
  });
  if (i >= WARM_UP) timesMs.push(performance.now() - startMs);
  if (body !== '{"result":"settled"}') wrong.push(body);
}
timesMs.sort((a, b) => a - b);
const at = (share: number) => timesMs[Math.floor(timesMs.length * share)] ?? Number.NaN;
parentPort?.postMessage({ p50: at(0.5), p99: at(0.99), wrong });
