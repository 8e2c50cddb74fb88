/**
 * What does a decision over gRPC cost the gateway, against the same over HTTP?
 *
 * One client whom a limit lets pass, asking as Envoy does: 64 connections with one question each over HTTP, two
 * connections with 32 each over gRPC, one for each of Envoy's threads. By h2load, for both.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, credentials } from '@grpc/grpc-js';
import { frame } from '../test/support/grpc-frames.ts';
import { checkRequestBytes, readCheckResponse } from '../test/support/grpc-client.ts';
import { CHECK } from '../test/support/grpc-frames.ts';
import { printTable } from '../tools/table.ts';
import { createLab } from './support/lab.ts';
import type { Applied } from './support/load.ts';
import { figuresOf, interleave, timesThat } from './support/rounds.ts';

const ROOMY = '{ version: 1, default: { limits: [1000000/1h] } }';
const PATH = '/api/search?q=shoes';
const QUESTION = {
  attributes: {
    source: { address: { socket_address: { address: '203.0.113.9' } } },
    request: {
      http: {
        method: 'GET',
        path: PATH,
        host: 'api.example.com',
        headers: {
          'x-forwarded-for': '203.0.113.9',
          'x-request-id': '2f0a1b3c-4d5e-6f70-8192-a3b4c5d6e7f8',
        },
      },
    },
  },
};

await using lab = createLab();
const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
const questionFile = join(folder, 'question');
const question = checkRequestBytes(QUESTION);
writeFileSync(questionFile, frame(question));

const overHttp = await lab.gateway(ROOMY);
const overGrpc = await lab.gateway(ROOMY);
const grpcAddress = `127.0.0.1:${overGrpc.grpcPort}`;
await expectAllow();
const outcomes = await interleave(
  [
    {
      name: 'HTTP',
      server: overHttp,
      load: h2load(
        ...['--h1', '-c64', '-H', 'x-headgate-peer-ip: 203.0.113.9'],
        `${overHttp.url.slice(0, -1)}${PATH}`,
      ),
    },
    {
      name: 'gRPC',
      server: overGrpc,
      load: h2load(
        ...['-c2', '-m32', '-d', questionFile],
        ...['-H', 'content-type: application/grpc', '-H', 'te: trailers'],
        `http://${grpcAddress}${CHECK}`,
      ),
    },
  ],
  { rounds: 12 },
);
rmSync(folder, { recursive: true });
const [http] = outcomes;
printTable(
  outcomes.map((outcome) => ({
    server: outcome.name,
    'CPU us/request': figuresOf(outcome)['CPU us/request'] ?? '',
    'requests/s': figuresOf(outcome)['requests/s'] ?? '',
    'CPU, times HTTP': timesThat(outcome, http, 'serverMicrosPerRequest'),
  })),
);

/** h2load takes errors of gRPC for success: they are a trailer of a 200. */
async function expectAllow(): Promise<void> {
  const client = new Client(grpcAddress, credentials.createInsecure());
  const answer = await new Promise<Buffer>((resolve, reject) => {
    const asIs = (bytes: Buffer) => bytes;
    client.makeUnaryRequest(CHECK, asIs, asIs, question, (error, bytes) => {
      if (bytes === undefined) reject(error ?? new Error('no answer'));
      else resolve(bytes);
    });
  });
  client.close();
  if (readCheckResponse(answer).ok_response === undefined) throw new Error('it was denied');
}

function h2load(...options: string[]): (seconds: number) => Promise<Applied> {
  return async (seconds) => {
    const { stdout } = await promisify(execFile)('h2load', ['-t1', `-D${seconds}`, ...options]);
    const succeeded = Number(/(\d+) succeeded, 0 failed/.exec(stdout)?.[1] ?? 0);
    if (succeeded === 0) throw new Error(`not every request was answered:\n${stdout}`);
    return { requests: succeeded, requestsPerSecond: succeeded / seconds };
  };
}
