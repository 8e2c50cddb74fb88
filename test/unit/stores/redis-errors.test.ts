import { expect, test } from 'vitest';
import { StoreError } from '../../../src/core/store.ts';
import { isNoScript, storeErrorFrom } from '../../../src/stores/redis/errors.ts';

function replyError(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}

test.each([
  ['LOADING Redis is loading the dataset in memory', 'loading'],
  [
    'READONLY You can’t write against a read only replica. script: 5b1, on @user_script:1.',
    'readonly',
  ],
  ["OOM command not allowed when used memory > 'maxmemory'.", 'oom'],
  ['MISCONF Redis is configured to save RDB snapshots', 'oom'],
  ['BUSY Redis is busy running a script', 'busy'],
  ['NOPERM this user has no permissions to run the ‘evalsha’ command', 'acl'],
  ['NOAUTH Authentication required.', 'acl'],
  ['CLUSTERDOWN The cluster is down', 'loading'],
  ['ERR OOM command not allowed', 'oom'],
  ['WRONGTYPE Operation against a key holding the wrong kind of value', 'protocol'],
  ['ERR something new', 'other'],
])('%s', (message, reason) => {
  expect(storeErrorFrom(replyError(message)).reason).toBe(reason);
});

test('what is no reply of a server is a fault of the connection', () => {
  expect(storeErrorFrom(new Error('Connection is closed.')).reason).toBe('connection');
  expect(storeErrorFrom('odd').reason).toBe('connection');
});

test('a store error stays what it is', () => {
  const error = new StoreError('timeout', 'late');
  expect(storeErrorFrom(error)).toBe(error);
});

test('a script that the server does not know', () => {
  expect(isNoScript(replyError('NOSCRIPT No matching script.'))).toBe(true);
  expect(isNoScript(replyError('ERR NOSCRIPT'))).toBe(false);
});
