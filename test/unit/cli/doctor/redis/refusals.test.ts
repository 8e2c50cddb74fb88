import { ReplyError } from 'ioredis';
import { expect, test } from 'vitest';
import { missingRight, refusalText } from '../../../../../src/cli/doctor/redis/refusals.ts';
import { StoreError } from '../../../../../src/gateway/core/counting/store.ts';

const reply = (message: string) => new ReplyError(message);
const system = (code: string) => Object.assign(new Error(`connect ${code}`), { code });

test.each([
  [
    "NOPERM this user has no permissions to run the 'evalsha' command or its subcommand",
    '+evalsha',
  ],
  [
    "NOPERM User headgate has no permissions to run the 'client|setname' command",
    '+client|setname',
  ],
  ['NOPERM this user has no permissions to access one of the keys used as arguments', '~hg:v1:*'],
  ['NOPERM No permissions to access a key', '~hg:v1:*'],
  ['NOPERM No permissions to access a channel', '&hg:v1:*'],
  ["ERR ACL failure in script: User x has no permissions to run the 'lset' command", '+lset'],
  [
    "ERR Error running script: The user executing the script can't run this command or subcommand",
    'to a command that scripts run',
  ],
  ["ERR The user executing the script can't access at least one of the keys mentioned", '~hg:v1:*'],
  ['NOAUTH Authentication required.', undefined],
  ['OOM command not allowed', undefined],
])('%s', (message, right) => {
  expect(missingRight(reply(message))).toBe(right);
});

test.each([
  [
    reply('WRONGPASS invalid username-password pair or user is disabled.'),
    'refuses this user and password',
  ],
  [
    reply('NOAUTH HELLO must be called with the client already authenticated'),
    'requires a password',
  ],
  [
    reply("READONLY You can't write against a read only replica."),
    'is a replica and refuses writes',
  ],
  [reply('MISCONF Redis is configured to save RDB snapshots'), 'refuses writes because it cannot'],
  [reply('BUSY Redis is busy running a script.'), 'is busy with a script'],
  [reply('LOADING Redis is loading the dataset in memory'), 'is loading its data'],
  [reply('CLUSTERDOWN Hash slot not served'), 'reports that its cluster is down'],
  [reply('NOREPLICAS Not enough good replicas to write.'), 'refuses writes without its replicas'],
  [reply('ERR max number of clients reached'), 'has no free connections'],
  [reply('DENIED Redis is running in protected mode'), 'is in protected mode'],
  [system('ECONNREFUSED'), 'refuses connections'],
  [system('ENOTFOUND'), 'has a host name that DNS does not know'],
  [system('ETIMEDOUT'), 'does not accept connections'],
  [system('CERT_HAS_EXPIRED'), 'has a certificate that is not trusted (CERT_HAS_EXPIRED)'],
  [
    new StoreError('timeout', 'Redis did not answer within 2000 ms'),
    'accepts connections but does',
  ],
])('%s is explained', (error, text) => {
  expect(refusalText(error)).toContain(text);
  // The store hands on what the server said.
  expect(refusalText(new StoreError('other', 'not taken', { cause: error }))).toContain(text);
});

test('does not repeat a password that a server repeats', () => {
  const error = reply("ERR unknown command 'AUTH', with args beginning with: 'me' 'the-password' ");
  expect(refusalText(error)).toBe("replies with an error: ERR unknown command 'AUTH'");
});
