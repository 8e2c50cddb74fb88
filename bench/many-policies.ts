/**
 * What does a decision cost with 10,000 policies, against 10?
 *
 * Every policy has its own path, and the load requests them in turn. Both gateways have the same number of clients and
 * keys. They count in memory, where the matcher's share of a decision is largest.
 */

import { printTable } from '../tools/table.ts';
import { createLab } from './support/lab.ts';
import { closedLoop } from './support/load.ts';
import { figuresOf, interleave, timesThat } from './support/rounds.ts';

const FEW = 10;
const MANY = 10_000;

function policyFile(count: number): string {
  const lines = Array.from({ length: count }, (_, i) => {
    const path = `/p/${String(i).padStart(5, '0')}`;
    return `- {name: p${i},match: {path: ${path}},limits: [1000000/1h]}\n`;
  });
  return `version: 1\ndefault: {limits: [1/1d]}\npolicies:\n${lines.join('')}`;
}

await using lab = createLab();

const outcomes = await interleave([
  {
    name: `${FEW} policies`,
    server: await lab.gateway(policyFile(FEW)),
    load: closedLoop({ clients: MANY, paths: FEW }),
  },
  {
    name: `${MANY} policies`,
    server: await lab.gateway(policyFile(MANY)),
    load: closedLoop({ clients: MANY, paths: MANY }),
  },
]);
const [few] = outcomes;
printTable(
  outcomes.map((outcome) => ({
    ...figuresOf(outcome),
    [`CPU, times ${FEW}`]: timesThat(outcome, few, 'serverMicrosPerRequest'),
  })),
);
