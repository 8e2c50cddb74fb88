/**
 * What does a decision over gRPC cost the gateway, against an empty answer, and against the same decision over HTTP?
 *
 * 10,000 clients and one limit that admits all of them, or one client that is over its limit. Over gRPC two connections
 * with 32 calls at a time, as from an Envoy with two threads; over HTTP 64 connections.
 */
import { printTable, spread } from '../tools/table.ts';
import { grpcClosedLoop } from './support/grpc-load.ts';
import { createLab } from './support/lab.ts';
import { closedLoop } from './support/load.ts';
import { all, figuresOf, interleave, timesThat } from './support/rounds.ts';

const ROOMY = '{ version: 1, default: { limits: [1000000/1h] } }';
const TIGHT = '{ version: 1, default: { limits: [1/1h] } }';
const CLIENTS = 10_000;
const everyone = grpcClosedLoop({ clients: CLIENTS });
const oneDenied = grpcClosedLoop({ clients: 1, expects: 'deny' });

await using lab = createLab();
const redis = await lab.redis();
const [inMemory, onRedis] = [await lab.gateway(ROOMY), await lab.gateway(ROOMY, redis.url(0))];
const overHttp = closedLoop({ clients: CLIENTS });
const outcomes = await interleave(
  [
    {
      name: 'empty, node:http2',
      server: await lab.server('rivals/empty-http2.ts'),
      load: everyone,
    },
    {
      name: 'empty, grpc-js',
      server: await lab.server('rivals/empty-grpc-js.ts'),
      load: everyone,
    },
    { name: 'gRPC, memory', server: inMemory, load: everyone },
    { name: 'gRPC, Redis', server: onRedis, redis, load: everyone },
    {
      name: 'gRPC, Redis, one denied client',
      server: await lab.gateway(TIGHT, redis.url(1)),
      redis,
      load: oneDenied,
    },
    { name: 'HTTP, memory', server: inMemory, load: overHttp },
    { name: 'HTTP, Redis', server: onRedis, redis, load: overHttp },
  ],
  { rounds: 12, loadIs: '64 requests at a time' },
);
const [empty, , , , , , http] = outcomes;
printTable(
  outcomes.map((outcome) => ({
    ...figuresOf(outcome),
    'all CPU us/request': spread(all(outcome, 'totalMicrosPerRequest')),
    'all CPU, times empty node:http2': timesThat(outcome, empty, 'totalMicrosPerRequest'),
    'all CPU, times HTTP on Redis': timesThat(outcome, http, 'totalMicrosPerRequest'),
  })),
);
