/** What `headgate top --once` prints. */
import { expect, test } from 'vitest';
import { plainText } from '../../../../src/cli/top/plain.ts';
import { textOf } from '../../../../src/cli/top/text.ts';
import { client, policy, snapshot } from '../../../support/top.ts';

const printed = (known: Parameters<typeof snapshot>[0]) =>
  plainText(snapshot(known)).map((line) => textOf(line).trimEnd());

test('the time of the rates is in seconds', () => {
  expect(printed({ policies: [policy('login')] })).toContain(
    'rates: mean of the 10 s until 2026-11-22 11:30:00 UTC',
  );
});

test('denied clients are a table, and without any there is a sentence', () => {
  const nobody = 'no client was denied in the last five minutes';
  expect(printed({})).toContain(nobody);
  const lines = printed({ clients: [client('i.first', { denials: 9, decision_id: 'aaa-9' })] });
  expect(lines).not.toContain(nobody);
  expect(lines.at(-1)).toMatch(/^i\.first +login .* 9 .*aaa-9$/);
});
