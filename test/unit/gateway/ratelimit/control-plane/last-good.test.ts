/** A restart without control plane: the file with the last good configuration. */
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type ControlPlane,
  limits,
  resourceOf,
  startControlPlane,
} from '../../../../support/control-plane.ts';
import { waitUntil } from '../../../../support/eventually.ts';
import { startSubscriber } from '../../../../support/subscriber.ts';

const ONE = [resourceOf(limits('shop', 3))];
const OTHER = [resourceOf(limits('shop', 5))];

let folder: string;
let lastGood: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-last-good-'));
  lastGood = join(folder, 'limits.json');
});
// A file may still be written.
afterEach(() => rmSync(folder, { recursive: true, maxRetries: 10 }));

const text = () => readFileSync(lastGood, 'utf8');

/** A subscription that kept version 1, and its control plane. */
async function kept(): Promise<ControlPlane> {
  const plane = await startControlPlane();
  plane.serve('1', ONE);
  using subscriber = startSubscriber({ port: plane.port, lastGood });
  await subscriber.event('applied 1');
  await waitUntil('it is kept', async () => readdirSync(folder).join() === 'limits.json');
  return plane;
}

/** A subscription that keeps a configuration, after its control plane is gone. Returns the port. */
async function keptAndGone(): Promise<number> {
  const plane = await kept();
  await plane[Symbol.asyncDispose]();
  return plane.port;
}

test('keeps the last good configuration, for its user alone', async () => {
  await using plane = await kept();
  expect(statSync(lastGood).mode & 0o777).toBe(0o600);
  expect(JSON.parse(text())).toMatchObject({ format: 1, version: '1', files: [{ name: 'shop' }] });
  // A file that others may read does not stay so.
  chmodSync(lastGood, 0o644);
  let isRefusing = false;
  const apply = () => (isRefusing ? ['no'] : []);
  using subscriber = startSubscriber({ port: plane.port, lastGood, apply });
  plane.serve('2', OTHER);
  await waitUntil('it is replaced', async () => text().includes('"version":"2"'));
  expect(statSync(lastGood).mode & 0o777).toBe(0o600);
  isRefusing = true;
  plane.serve('3', ONE);
  await subscriber.event('refused 3');
  expect(text()).toContain('"version":"2"');
  expect(readdirSync(folder)).toEqual(['limits.json']);
});

test('is in force after a start without control plane, until that is back', async () => {
  const port = await keptAndGone();
  using subscriber = startSubscriber({ port, lastGood });
  await subscriber.event('restored 1');
  await subscriber.event('disconnected', 3);
  expect(subscriber.events.filter((event) => event.startsWith('restored'))).toHaveLength(1);
  await using plane = await startControlPlane({ port });
  plane.serve('1', OTHER);
  await subscriber.event('applied 1');
  const [restored, applied] = subscriber.offered;
  expect(restored).toMatchObject([
    { value: { descriptors: [{ rate_limit: { requests_per_unit: 3 } }] } },
  ]);
  expect(applied).toMatchObject([
    { value: { descriptors: [{ rate_limit: { requests_per_unit: 5 } }] } },
  ]);
});

test('is in force if the control plane has no configuration for a moment', async () => {
  await keptAndGone();
  await using plane = await startControlPlane();
  using subscriber = startSubscriber({
    port: plane.port,
    lastGood,
    timing: { restoreAfterMs: 20 },
  });
  await subscriber.event('restored 1');
  expect(subscriber.events.filter((event) => event.startsWith('disconnected'))).toEqual([]);
});

test('is in force if the first configuration is refused', async () => {
  await using plane = await kept();
  plane.serve('2', OTHER);
  const apply = (files: readonly unknown[]) =>
    JSON.stringify(files).includes('"requests_per_unit":5') ? ['no 5'] : [];
  using subscriber = startSubscriber({ port: plane.port, lastGood, apply });
  await subscriber.event('restored 1');
  expect(subscriber.events).toEqual(['connected', 'refused 2: no 5', 'restored 1']);
});

test('is not read if the control plane was there first', async () => {
  await using plane = await kept();
  using subscriber = startSubscriber({ port: plane.port, lastGood });
  await subscriber.event('applied 1');
  plane.endStreams();
  await subscriber.event('applied 1', 2);
  expect(subscriber.events.filter((event) => event.startsWith('restored'))).toEqual([]);
});

describe('a file that cannot be used is reported', () => {
  const cases: readonly [string, string, string][] = [
    ['no JSON', '{"format":1,', 'is no document of headgate'],
    ['another document', '[]', 'has another format than 1'],
    ['another format', '{"format":2,"version":"1","files":[]}', 'has another format than 1'],
    ['no version', '{"format":1,"files":[]}', 'is incomplete'],
    ['no files', '{"format":1,"version":"1"}', 'is incomplete'],
    [
      'a file without a value',
      '{"format":1,"version":"1","files":[{"name":"a"}]}',
      'is incomplete',
    ],
  ];

  test.each(cases)('%s', async (_, content, reason) => {
    const port = await keptAndGone();
    writeFileSync(lastGood, content);
    using subscriber = startSubscriber({ port, lastGood });
    expect(await subscriber.event('not restored')).toBe(`not restored: ${lastGood} ${reason}`);
    expect(subscriber.offered).toEqual([]);
    await subscriber.event('disconnected', 3);
    expect(subscriber.events.filter((event) => event.startsWith('not restored'))).toHaveLength(1);
  });

  test('a directory', async () => {
    const port = await keptAndGone();
    using subscriber = startSubscriber({ port, lastGood: folder });
    expect(await subscriber.event('not restored')).toContain('it is a directory');
  });

  test('mistakes in its configuration', async () => {
    const port = await keptAndGone();
    using subscriber = startSubscriber({ port, lastGood, apply: () => ['a limit is too high'] });
    expect(await subscriber.event('not restored')).toBe('not restored: a limit is too high');
  });

  test('but not a file that does not exist', async () => {
    const port = await keptAndGone();
    rmSync(lastGood);
    using subscriber = startSubscriber({ port, lastGood });
    await subscriber.event('disconnected', 3);
    expect(subscriber.events.every((event) => event.startsWith('disconnected'))).toBe(true);
  });
});

test('a file that cannot be written is reported, and the configuration is in force', async () => {
  await using plane = await startControlPlane();
  plane.serve('1', ONE);
  const missing = join(folder, 'missing', 'limits.json');
  using subscriber = startSubscriber({ port: plane.port, lastGood: missing });
  expect(await subscriber.event('not kept')).toContain('ENOENT');
  expect(subscriber.events).toContain('applied 1');
});
