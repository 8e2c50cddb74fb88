/** What `headgate clients show` says of limits whose outcomes nobody reports. */
import { expect, test } from 'vitest';
import { inspectionText } from '../../../../src/cli/ops-client/client-text.ts';
import type { Output } from '../../../../src/gateway/operations/operation-table.ts';
import { NOON_MS } from '../../../support/requests.ts';

type Limit = Output<'inspect'>['limits'][number];

const limit = (policy: string, parts: Partial<Limit> = {}): Limit => ({
  ...{ policy, limit: `${policy}:1h`, mode: 'enforce', allows: '9 tokens per hour' },
  ...{ remaining: 4, retry_after_ms: 0, reset_after_ms: 0 },
  ...parts,
});
const shown = (limits: Limit[]) =>
  inspectionText(
    {
      ...{ client: 'k.abc', listed: [], overrides: [], denials: [], limits },
      gateways: { asked: 0, answered: 0 },
    } as never,
    NOON_MS,
  );

test('policies whose outcomes nobody reports are named once', () => {
  const is_unsettled = true;
  expect(shown([limit('login')]).join('\n')).not.toContain('reserved');
  const lines = shown([
    limit('chat', { is_unsettled }),
    limit('chat', { is_unsettled, limit: 'chat:month' }),
    limit('login', { is_unsettled }),
    limit('plain'),
  ]);
  expect(lines).toContain(
    'reserved  nobody reports outcomes for chat and login: what requests reserved stays counted',
  );
});

test.each([
  [{ client: 'c.a', client_id: 'acme' }, 'client  id:acme, c.a, a listed API key', 'its key ended'],
  [{ client: 'k.a' }, 'client  k.a, an ended API key', 'id:acme: its key ended'],
])('%j, whose keys have ended, is counted by address', (named, client, ended) => {
  const lines = inspectionText(
    {
      ...{ ...named, listed: [], overrides: [], denials: [], limits: [] },
      ...{ key_source: 'redis', ended_key: 'acme', key_ends: new Date(NOON_MS).toISOString() },
      gateways: { asked: 0, answered: 0 },
    } as never,
    NOON_MS + 26_000,
  );
  expect(lines.map((line) => line.replace(/ {2,}/, '  '))).toEqual(
    expect.arrayContaining([
      client,
      expect.stringMatching(
        new RegExp(`^key  ${ended} .* UTC, 26 s ago, so requests count for their address$`),
      ),
      ...('client_id' in named ? ['now  no request counts for it'] : []),
    ]),
  );
});
