/** `headgate top --interval`. */
import { expect, test } from 'vitest';
import { topCommand } from '../../../../src/cli/top/top-command.ts';

function read(interval: string): unknown {
  const command = topCommand();
  const option = command.options.find(({ long }) => long === '--interval');
  return option?.parseArg?.(interval, undefined);
}

test('is a duration from 1s to 1h', () => {
  expect(read('5s')).toBe(5_000);
  expect(read('1h')).toBe(3_600_000);
  for (const text of ['61min', '2h', '0s', 'soon', '']) {
    expect(() => read(text)).toThrow('It must be a duration from 1s to 1h.');
  }
});
