/** gRPC streams that the client resets as soon as it has opened them (CVE-2023-44487). */
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { CHECK } from '../support/grpc-frames.ts';
import { connectRawHttp2 } from '../support/http2-frames.ts';

test.concurrent('closes a connection that resets more streams than it may open, and no other', async ({
  expect,
}) => {
  await using gateway = await startGateway({ HEADGATE_GRPC_PORT: '0' });
  using other = await connectRawHttp2(gateway.grpcPort, CHECK);
  using flooder = await connectRawHttp2(gateway.grpcPort, CHECK);
  flooder.openAndReset(1_000);
  expect(await flooder.answersPing()).toBe(true);
  flooder.openAndReset(20_000);
  expect(await flooder.answersPing()).toBe(false);
  expect(await other.answersPing()).toBe(true);
});

test.concurrent('keeps the connection of an Envoy whose clients abort hundreds of requests a second', async ({
  expect,
}) => {
  await using gateway = await startGateway({ HEADGATE_GRPC_PORT: '0' });
  using envoy = await connectRawHttp2(gateway.grpcPort, CHECK);
  for (let second = 0; second < 4; second++) {
    envoy.openAndReset(600);
    expect(await envoy.answersPing()).toBe(true);
    await sleep(1_000);
  }
});
