/** What the log writes, what it loses, and what it says of that: on a file, a full disk and a closed pipe. */
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { LogOutput } from '../../../../../src/gateway/telemetry/log/log-output.ts';

let folder: string;
let opened: number[];
let events: string[];
/** Nothing depends on how fast the machine is. */
let nowMs: number;
let onUnblock: () => void;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-lost-lines-'));
  opened = [];
  events = [];
  nowMs = 0;
  onUnblock = () => {};
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  for (const fd of opened) closeSync(fd);
  rmSync(folder, { recursive: true });
});

function open(path: string, flags: string | number): number {
  const fd = openSync(path, flags);
  opened.push(fd);
  return fd;
}

function outputTo(fd: number): LogOutput {
  const told = events;
  const output = new LogOutput({
    fd,
    unblock() {
      told.push('unblock');
      onUnblock();
    },
    onLost: (lines) => told.push(`lost ${lines}`),
    report: (lines, why) => {
      told.push(`report ${lines} ${why}`);
      output.write(`lost ${lines} ${why}\n`);
    },
  });
  return output;
}

const file = () => join(folder, 'log');
const read = () => readFileSync(file(), 'utf8');
const withoutUnblock = () => events.filter((event) => event !== 'unblock');

/** Until the system has answered the last write with an error, after which only a timer goes on. */
async function failed(): Promise<void> {
  while (vi.getTimerCount() === 0) await nextTurn();
}

describe('lines', () => {
  test('are written in order, and a flush waits for all of them', async () => {
    const output = outputTo(open(file(), 'w'));
    for (const text of ['first\n', 'second\n', 'third\n']) output.write(text);
    expect(read()).not.toContain('third');
    await output.flush();
    expect(read()).toBe('first\nsecond\nthird\n');
    // The first alone, and what waited together.
    expect(events).toEqual(['unblock', 'unblock']);
    await output.flush();
    expect(events).toHaveLength(2);
  });

  test('that wait are written 4,096 bytes at once, and a longer one alone', async () => {
    const output = outputTo(open(file(), 'w'));
    const lines = [
      'first\n',
      // Two of them have 4,096 bytes, though fewer characters.
      `${'ä'.repeat(1_023)}\n\n`,
      `${'ä'.repeat(1_023)}\n\n`,
      'a\n',
      `${'b'.repeat(5_000)}\n`,
      'c\n',
    ];
    for (const line of lines) output.write(line);
    await output.flush();
    expect(read()).toBe(lines.join(''));
    expect(events).toHaveLength(5);
  });

  test('at the exit are written without waiting for the next turn', async () => {
    const output = outputTo(open(file(), 'w'));
    output.write('first\n');
    output.write('second\n');
    output.write('third\n');
    output.flushAtExit();
    expect(read()).toContain('second\nthird\n');
    // The system may still be busy with the first one.
    while (!read().includes('first\n')) await nextTurn();
    expect(read()).toHaveLength('first second third '.length);
    expect(withoutUnblock()).toEqual([]);
  });

  test('that are not there are not written', async () => {
    const output = outputTo(open(file(), 'w'));
    await output.flush();
    output.flushAtExit();
    expect([read(), events]).toEqual(['', []]);
  });

  test('wait up to 1,048,576 characters; with one more, those that wait are lost', async () => {
    const output = outputTo(open(file(), 'w'));
    const long = `${'a'.repeat((1 << 19) - 1)}\n`;
    for (const text of ['first\n', long, long]) output.write(text);
    expect(events).toEqual(['unblock']);
    output.write('\n');
    expect(withoutUnblock()).toEqual(['lost 2']);
    // What waits now is counted anew.
    output.write(long);
    expect(withoutUnblock()).toEqual(['lost 2']);
    await output.flush();
    expect(withoutUnblock()).toEqual(['lost 2', 'report 2 EAGAIN']);
    expect(read()).toBe(`first\nlost 2 EAGAIN\n\n${long}`);
  });
});

describe('in a pipe', () => {
  const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants;

  function openPipe() {
    const path = join(folder, 'pipe');
    execFileSync('mkfifo', [path]);
    const reader = openSync(path, O_RDONLY | O_NONBLOCK);
    const writer = open(path, O_WRONLY | O_NONBLOCK);
    const bytes = fill(writer);
    readFrom(reader, bytes);
    return { path, reader, writer, bytes };
  }

  /** Returns how many bytes the pipe holds: systems give less to users with many pipes. */
  function fill(writer: number): number {
    let bytes = 0;
    try {
      while (true) bytes += writeSync(writer, 'x'.repeat(4_096));
    } catch {
      return bytes;
    }
  }

  function readFrom(fd: number, bytes = 1 << 20): string {
    const buffer = Buffer.alloc(bytes);
    try {
      return buffer.toString('utf8', 0, readSync(fd, buffer));
    } catch {
      // It is empty.
      return '';
    }
  }

  test('that is full, a write is tried again 10 ms later', async () => {
    const { reader, writer, bytes } = openPipe();
    opened.push(reader);
    const output = outputTo(writer);
    const long = `${'a'.repeat(bytes + 99)}\n`;
    output.write(long);
    output.write('second\n');
    await failed();
    expect(readFrom(reader)).toBe('a'.repeat(bytes));
    expect(events).toEqual(['unblock', 'unblock']);
    vi.advanceTimersByTime(9);
    expect(events).toHaveLength(2);
    vi.advanceTimersByTime(1);
    await output.flush();
    expect(readFrom(reader)).toBe(`${'a'.repeat(99)}\nsecond\n`);
    expect(withoutUnblock()).toEqual([]);
  });

  test('that stays full, the last lines are tried for half a second', async () => {
    const { reader, writer, bytes } = openPipe();
    opened.push(reader);
    const output = outputTo(writer);
    output.write('a'.repeat(bytes));
    output.write('second\n');
    await failed();
    events.length = 0;
    onUnblock = () => {
      nowMs += 100;
    };
    output.flushAtExit();
    expect(events).toHaveLength(5);
    // The time of a flush counts.
    void output.flush();
    nowMs += 300;
    output.flushAtExit();
    expect(events).toHaveLength(7);
    onUnblock = () => readFrom(reader);
    nowMs -= 1;
    output.flushAtExit();
    expect(readFrom(reader)).toBe('second\n');
  });

  test('that stays full, a flush ends after half a second', async () => {
    const { reader, writer, bytes } = openPipe();
    opened.push(reader);
    const output = outputTo(writer);
    output.write('a'.repeat(bytes));
    output.write('second\n');
    await failed();
    let hasEnded = false;
    const flushed = output.flush().then(() => {
      hasEnded = true;
    });
    await vi.advanceTimersByTimeAsync(499);
    expect(hasEnded).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await flushed;
    // No write is under way when the pipe closes.
    let text = readFrom(reader);
    while (!text.endsWith('second\n')) {
      await vi.advanceTimersByTimeAsync(10);
      await nextTurn();
      text += readFrom(reader);
    }
    expect(text).toBe(`${'a'.repeat(bytes)}second\n`);
  });

  test('whose reader ends, a line that was torn is lost, and the report begins on a new one', async () => {
    const { path, reader, writer, bytes } = openPipe();
    const output = outputTo(writer);
    output.write(`${'a'.repeat(bytes)}\n`);
    await failed();
    closeSync(reader);
    vi.advanceTimersByTime(10);
    await output.flush();
    expect(withoutUnblock()).toEqual(['lost 1']);
    const next = open(path, O_RDONLY | O_NONBLOCK);
    expect(readFrom(next)).toBe('a'.repeat(bytes));
    vi.advanceTimersByTime(1_000);
    output.write('second\n');
    await output.flush();
    expect(readFrom(next)).toBe('\nlost 1 EPIPE\nsecond\n');
    expect(withoutUnblock()).toEqual(['lost 1', 'report 1 EPIPE']);
    // What was reported is not reported again.
    output.write('third\n');
    await output.flush();
    expect(readFrom(next)).toBe('third\n');
  });

  test('whose reader ends between two lines, the report does not begin on a new one', async () => {
    const { path, reader, writer } = openPipe();
    const output = outputTo(writer);
    output.write('first\n');
    await output.flush();
    closeSync(reader);
    output.write('second\n');
    await output.flush();
    const next = open(path, O_RDONLY | O_NONBLOCK);
    vi.advanceTimersByTime(1_000);
    await output.flush();
    expect(readFrom(next)).toBe('first\nlost 1 EPIPE\n');
  });
});

describe('on a full disk', () => {
  const full = () => open('/dev/full', 'w');

  test('lines are lost and counted, and what waited with them', async () => {
    const output = outputTo(full());
    output.write('first\n');
    output.write('second\nthird\n');
    await output.flush();
    expect(withoutUnblock()).toEqual(['lost 1', 'lost 2']);
    output.write('fourth\n');
    expect(withoutUnblock()).toEqual(['lost 1', 'lost 2', 'lost 1']);
    // It is not tried again, neither by a flush nor at the exit.
    await output.flush();
    output.flushAtExit();
    expect(events.filter((event) => event === 'unblock')).toHaveLength(1);
  });

  test('it is tried again a second later, with a report, which is not counted as lost', async () => {
    const output = outputTo(full());
    output.write('first\n');
    await output.flush();
    expect(withoutUnblock()).toEqual(['lost 1']);
    vi.advanceTimersByTime(999);
    expect(withoutUnblock()).toEqual(['lost 1']);
    vi.advanceTimersByTime(1);
    expect(withoutUnblock()).toEqual(['lost 1', 'report 1 ENOSPC']);
    await output.flush();
    output.write('second\n');
    vi.advanceTimersByTime(1_000);
    await output.flush();
    expect(withoutUnblock()).toEqual(['lost 1', 'report 1 ENOSPC', 'lost 1', 'report 2 ENOSPC']);
  });
});
