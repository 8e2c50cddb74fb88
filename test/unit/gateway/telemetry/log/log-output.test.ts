/** The log in a pipe that nobody reads for a while. */
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { LogOutput } from '../../../../../src/gateway/telemetry/log/log-output.ts';
import { eventually } from '../../../../support/eventually.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-log-output-'));
const pipe = join(folder, 'pipe');
execFileSync('mkfifo', [pipe]);
const fd = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
afterAll(() => {
  closeSync(fd);
  rmSync(folder, { recursive: true });
});

/** All that is in the pipe now. */
function readPipe(): string {
  const buffer = Buffer.alloc(1 << 16);
  let text = '';
  try {
    while (true) text += buffer.toString('utf8', 0, readSync(fd, buffer));
  } catch {
    // It is empty.
  }
  return text;
}

test('a reader that hangs costs a bounded number of lines, which are counted and reported in their place', async () => {
  let lost = 0;
  const output = new LogOutput({
    fd,
    unblock() {},
    onLost: (lines) => {
      lost += lines;
    },
    report: (lines, why) => output.write(`lost ${lines} ${why}\n`),
  });
  const line = (i: number) => `${i} ${'.'.repeat(1_000)}\n`;
  for (let i = 0; i < 3_000; i++) output.write(line(i));
  expect(lost).toBeGreaterThan(1_000);
  let text = '';
  await eventually(
    async () => {
      text += readPipe();
      return text;
    },
    (all) => all.includes(line(2_999)),
    60_000,
    'the last line',
  );
  const lines = text.split('\n').slice(0, -1);
  const at = lines.findIndex((each) => each.startsWith('lost'));
  expect(lines.length - 1 + lost).toBe(3_000);
  expect(lines[at]).toBe(`lost ${lost} EAGAIN`);
  const [before = '', after = ''] = [lines[at - 1], lines[at + 1]];
  expect(Number.parseInt(after, 10) - Number.parseInt(before, 10)).toBeGreaterThan(1_000);
});
