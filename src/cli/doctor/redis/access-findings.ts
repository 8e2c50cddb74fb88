import { ReplyError } from 'ioredis';
import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import type { RedisTarget } from '../../../gateway/config/settings/redis-url.ts';
import { canonicalAddress, compileAddressSet } from '../../../gateway/core/identity/address.ts';
import { storeErrorFrom, withDeadline } from '../../../gateway/stores/redis/failures.ts';
import { type Contact, contact, REPLY_TIMEOUT_MS } from './contact.ts';
import { fine, warning } from './diagnostics.ts';

const ACCOUNT = 'the account of deploy/redis/users.acl';

const isPrivate = compileAddressSet(['loopback', 'private']);

export async function* accessFindings(
  target: RedisTarget,
  reached: Contact,
): AsyncGenerator<Diagnostic> {
  const open = await isOpen(target);
  if (open === undefined) {
    yield warning(
      'could not be checked for access without a password: repeat the check when it is less busy',
    );
  } else if (open) {
    yield warning(
      `accepts commands without a password: set one for the default user, and let gateways use ${ACCOUNT}`,
    );
  } else if (await hasExtraRights(reached)) {
    yield warning(`gives the account more rights than gateways need: use ${ACCOUNT}`);
  } else {
    yield fine('requires a password, and the account has only the rights that gateways need');
  }
  const address = canonicalAddress(reached.client.stream.remoteAddress ?? '');
  if (!target.tls && address !== undefined && !isPrivate(address)) {
    yield warning(
      `is reached over ${address} without TLS, password included: write rediss:// in the URL, or use a private network`,
    );
  }
}

/** Tries to read a counter without credentials. Resolves to undefined if that could not be determined. */
async function isOpen(target: RedisTarget): Promise<boolean | undefined> {
  if (target.password === undefined) return true;
  let anonymous: Contact | undefined;
  try {
    anonymous = await contact({ ...target, username: undefined, password: undefined });
    await anonymous.ready();
    await withDeadline(anonymous.client.get('hg:v1:check'), REPLY_TIMEOUT_MS);
    return true;
  } catch (error) {
    // A cluster node that redirects would have run the command.
    if (error instanceof Error && error.message.startsWith('MOVED')) return true;
    return ['noperm', 'wrongpass'].includes(storeErrorFrom(error).reason) ? false : undefined;
  } finally {
    anonymous?.client.disconnect();
  }
}

/** Tries a harmless command that gateways do not need. The server may log the refusal (ACL LOG). */
async function hasExtraRights({ client }: Contact): Promise<boolean> {
  try {
    await withDeadline(client.lastsave(), REPLY_TIMEOUT_MS);
    return true;
  } catch (error) {
    // Also if the server does not have this command.
    if (error instanceof ReplyError) return false;
    throw error;
  }
}
