/** The first commands of a connection, the same that ioredis sends: an account needs no further rights. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisTarget } from '../../../config/settings/redis-url.ts';
import { CONNECTION_NAME, LONGEST_RETRY_MS } from '../connecting.ts';
import { callRedis, type Sender } from '../counting-connection.ts';

/** What servers say that lack HELLO (before Redis 6) or RESP3. */
const OLD_SERVER = /NOPROTO|UNKNOWN COMMAND.*HELLO/i;
/** The server has no password, or Redis 5 gets a user. */
const NEEDS_NO_LOGIN =
  /no password is set|without any password configured|wrong number of arguments for 'auth'/;

/**
 * Resolves when commands can be sent. Rejects with the error of the server if it refuses the login. `onError` gets the
 * refusal of a database, after which ioredis goes on with the first one.
 */
export async function shakeHands(
  sender: Sender,
  target: RedisTarget,
  onError: (error: Error) => void,
): Promise<void> {
  const { username, password } = target;
  const hasLogin = username !== undefined || password !== undefined;
  const login = [username ?? 'default', password ?? ''];
  const introduce = async (greeting: Promise<unknown>) => {
    const { database } = target;
    const selected = database === 0 ? undefined : callRedis(sender, 'select', database);
    // An account may lack the right to name its connection.
    const named = callRedis(sender, 'client', 'setname', CONNECTION_NAME);
    const [greeted, chosen] = await Promise.allSettled([greeting, selected, named]);
    if (greeted.status === 'rejected') throw greeted.reason;
    if (chosen.status === 'rejected') onError(chosen.reason);
  };
  try {
    await introduce(callRedis(sender, 'hello', 3, ...(hasLogin ? ['auth', ...login] : [])));
  } catch (error) {
    if (!OLD_SERVER.test((error as Error).message)) throw error;
    const words = username === undefined ? [password ?? ''] : login;
    await introduce(
      hasLogin ? callRedis(sender, 'auth', ...words).catch(unlessNeeded) : Promise.resolve(),
    );
  }
  await untilLoaded(sender);
}

function unlessNeeded(error: Error): void {
  if (!NEEDS_NO_LOGIN.test(error.message)) throw error;
}

/** Waits while the server loads its data. An account without the right to ask for it is not refused. */
async function untilLoaded(sender: Sender): Promise<void> {
  while (await isLoading(sender)) await sleep(LONGEST_RETRY_MS, undefined, { ref: false });
}

async function isLoading(sender: Sender): Promise<boolean> {
  try {
    return /^loading:1\r?$/m.test(String(await callRedis(sender, 'info')));
  } catch (error) {
    if ((error as Error).message.includes('NOPERM')) return false;
    throw error;
  }
}
