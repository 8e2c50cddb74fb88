/** How long one scrape of the metrics takes, with policies that have all counted requests. */

import { type Row, spread } from '../../tools/table.ts';
import type { Lab } from './lab.ts';
import { closedLoop } from './load.ts';
import { decisionSeries, startOperated } from './operated.ts';

const CLIENTS = 10_000;
const WARM_UPS = 20;
const SCRAPES = 40;

export async function scrapes(lab: Lab, policies: number): Promise<Row> {
  const { server, scrape } = await startOperated(lab, 'shipped', policyFile(policies));
  await closedLoop({ clients: CLIENTS, paths: policies })(server, 1);
  let metrics = '';
  const millis: number[] = [];
  for (let i = 0; i < WARM_UPS + SCRAPES; i++) {
    const startMs = performance.now();
    metrics = await scrape();
    if (i >= WARM_UPS) millis.push(performance.now() - startMs);
  }
  const counted = decisionSeries(metrics);
  if (counted !== policies) throw new Error(`${counted} of ${policies} policies have counted`);
  return {
    policies: String(policies),
    'one scrape, ms': spread(millis),
    bytes: String(Buffer.byteLength(metrics)),
  };
}

function policyFile(count: number): string {
  const lines = Array.from({ length: count }, (_, i) => {
    const path = `/p/${String(i).padStart(5, '0')}`;
    return `- {name: p${i},match: {path: ${path}},limits: [1000000/1h]}\n`;
  });
  return `version: 1\ndefault: {limits: [1/1d]}\npolicies:\n${lines.join('')}`;
}
