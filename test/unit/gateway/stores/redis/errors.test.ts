import { expect, test } from 'vitest';
import { StoreError } from '../../../../../src/gateway/core/counting/store.ts';
import { isNoScript, storeErrorFrom } from '../../../../../src/gateway/stores/redis/failures.ts';

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
  ['MISCONF Redis is configured to save RDB snapshots', 'misconf'],
  ['BUSY Redis is busy running a script', 'busy'],
  ['NOPERM this user has no permissions to run the ‘evalsha’ command', 'noperm'],
  ['NOAUTH Authentication required.', 'noperm'],
  ['CLUSTERDOWN The cluster is down', 'clusterdown'],
  ['ERR OOM command not allowed', 'oom'],
  ['WRONGTYPE Operation against a key holding the wrong kind of value', 'wrongtype'],
  ['WRONGPASS invalid username-password pair', 'wrongpass'],
  ["ERR Could not find scripting engine 'lua'", 'nolua'],
  ["ERR unknown command 'EVALSHA', with args beginning with: 'x'", 'nolua'],
  ['TRYAGAIN Multiple keys request during rehashing of slot', 'clusterdown'],
  ['NOSCRIPT No matching script.', 'noscript'],
  ['ERR something new', 'other'],
])('%s', (message, reason) => {
  expect(storeErrorFrom(replyError(message)).reason).toBe(reason);
});

test('errors that are no replies are connection errors', () => {
  expect(storeErrorFrom(new Error('Connection is closed.')).reason).toBe('connection');
  expect(storeErrorFrom('odd').reason).toBe('connection');
  const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
  expect(storeErrorFrom(refused).reason).toBe('refused');
});

test('a StoreError is passed on unchanged', () => {
  const error = new StoreError('timeout', 'late');
  expect(storeErrorFrom(error)).toBe(error);
});

test('a script that the server does not know', () => {
  expect(isNoScript(replyError('NOSCRIPT No matching script.'))).toBe(true);
  expect(isNoScript(replyError('ERR NOSCRIPT'))).toBe(false);
});
