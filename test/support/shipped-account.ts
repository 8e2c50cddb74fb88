/** The account of deploy/redis/users.acl, for servers that tests start. */
import { readFileSync } from 'node:fs';
import { connectTo, type TestRedis } from './redis.ts';

export const ACL_FILE = new URL('../../deploy/redis/users.acl', import.meta.url);

export async function addShippedAccount(server: TestRedis): Promise<void> {
  const [user] = /^user .*$/m.exec(readFileSync(ACL_FILE, 'utf8')) ?? [];
  if (user === undefined) throw new Error('the file must have a line with a user');
  const admin = connectTo(server);
  await admin.call('ACL', 'SETUSER', ...user.split(' ').slice(1));
  admin.disconnect();
}

/** The same URL, with that account. */
export function byShippedAccount(url: string): string {
  return url.replace('://', '://headgate:change-me@');
}
