/** Which key readline means. */
import { expect, test } from 'vitest';
import { keysOf } from '../../../../src/cli/top/terminal.ts';

const named = (name: string, text = '') => ({ name, text });

test.each([
  ['a', { name: 'a' }, [named('a', 'a')]],
  ['A', { name: 'a' }, [named('A', 'A')]],
  ['\u00e9', {}, [named('\u00e9', '\u00e9')]],
  ['/', {}, [named('/', '/')]],
  [' ', { name: 'space' }, [named(' ', ' ')]],
  [undefined, { name: 'up' }, [named('up')]],
  ['\r', { name: 'return' }, [named('return')]],
  ['\n', { name: 'enter' }, [named('return')]],
  ['\u007f', { name: 'backspace' }, [named('backspace')]],
  ['\u001b', { name: 'escape', meta: true }, [named('escape')]],
  ['\u0003', { name: 'c', ctrl: true }, [named('ctrl-c')]],
] as const)('%j %j', (char, pressed, keys) => {
  expect(keysOf(char, pressed)).toEqual(keys);
});

test('Esc and a key right after it are two keys, but Alt and an arrow are the arrow', () => {
  expect(keysOf(undefined, { name: 'q', meta: true })).toEqual([named('escape'), named('q', 'q')]);
  expect(keysOf('\r', { name: 'return', meta: true })).toEqual([named('escape'), named('return')]);
  expect(keysOf(undefined, { name: 'up', meta: true })).toEqual([named('up')]);
});
