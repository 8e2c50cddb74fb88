/** Who else can do what on a server, found out by trying. */
import { ReplyError } from 'ioredis';
import type { RedisTarget } from '../config/settings/redis-target.ts';
import { canonicalAddress, compileAddressSet } from '../core/address.ts';
import { withDeadline } from '../stores/redis/deadline.ts';
import { storeErrorFrom } from '../stores/redis/errors.ts';
import { type Contact, contact, REPLY_TIMEOUT_MS } from './contact.ts';
import { fine, type PlacedFinding, warning } from './finding.ts';

const ACCOUNT = 'the account of deploy/redis/users.acl';

const isNear = compileAddressSet(['loopback', 'private']);

/** `reached` is a connection to the one server of the target. */
export async function* accessFindings(
  target: RedisTarget,
  reached: Contact,
): AsyncGenerator<PlacedFinding> {
  const open = await isOpen(target);
  if (open === undefined) {
    yield warning('did not say whether it obeys whoever connects: examine it when it is less busy');
  } else if (open) {
    yield warning(
      `obeys whoever connects, without a password: give the default user one, best with ${ACCOUNT} for gateways`,
    );
  } else if (await isWide(reached)) {
    yield warning(`lets the account do more than gateways need: use ${ACCOUNT}`);
  } else {
    yield fine('obeys nobody without a password, and the account has no more rights than it needs');
  }
  const address = canonicalAddress(reached.client.stream.remoteAddress ?? '');
  if (!target.tls && address !== undefined && !isNear(address)) {
    yield warning(
      `is reached over ${address} without TLS, password included: write rediss in the URL, or use a private network`,
    );
  }
}

/** Whether a connection without credentials can read a count; undefined when that cannot be found out. */
async function isOpen(target: RedisTarget): Promise<boolean | undefined> {
  if (target.password === undefined) return true;
  let stranger: Contact | undefined;
  try {
    stranger = await contact({ ...target, username: undefined, password: undefined });
    await stranger.ready();
    await withDeadline(stranger.client.get('hg:v1:check'), REPLY_TIMEOUT_MS);
    return true;
  } catch (error) {
    // A node of a cluster that sends elsewhere would have obeyed.
    if (error instanceof Error && error.message.startsWith('MOVED')) return true;
    return ['noperm', 'wrongpass'].includes(storeErrorFrom(error).reason) ? false : undefined;
  } finally {
    stranger?.client.disconnect();
  }
}

/** By a harmless command that gateways have no use for. The server may write the refusal down (ACL LOG). */
async function isWide({ client }: Contact): Promise<boolean> {
  try {
    await withDeadline(client.lastsave(), REPLY_TIMEOUT_MS);
    return true;
  } catch (error) {
    // Also where nobody has this command.
    if (error instanceof ReplyError) return false;
    throw error;
  }
}
