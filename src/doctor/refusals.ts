/** What an error of Redis means to who runs it, and what to do about it. */
import { StoreError, type StoreErrorReason } from '../core/store.ts';
import { storeErrorFrom } from '../stores/redis/errors.ts';

const BY_REASON: Readonly<Partial<Record<StoreErrorReason, string>>> = {
  timeout:
    'takes connections and does not answer: it is frozen, overloaded or busy with one command',
  refused: 'refuses connections: start Redis, or correct the host and port of the URL',
  loading: 'is loading its data: gateways count there once it has',
  clusterdown: 'says that its cluster is down: see CLUSTER INFO and CLUSTER NODES',
  readonly: 'takes no writes, it is a replica: name its master, or the sentinels that know it',
  oom: 'is full, and takes no counts: raise maxmemory, or move what else is stored there',
  misconf:
    'takes no writes because it cannot save to disk (MISCONF): make room there, or turn snapshots off (save "")',
  busy: 'is busy with a script of somebody (BUSY): SCRIPT KILL ends it',
  wrongpass: 'does not know this user with this password: correct them in the URL',
};

/** Codes of the system and of OpenSSL. */
const BY_CODE: Readonly<Record<string, string>> = {
  ENOTFOUND: 'has a name without an address: correct the host of the URL, or DNS',
  EAI_AGAIN: 'has a name that DNS does not answer for: look at the resolver of this machine',
  ETIMEDOUT:
    'does not take connections: look at its address, at firewalls in between, and at whether it speaks TLS as the URL says',
  EHOSTUNREACH: 'cannot be reached from here: look at its address, and at the network',
  ENETUNREACH: 'cannot be reached from here: look at its address, and at the network',
  ECONNRESET: 'breaks connections off: it may expect TLS, then write rediss in the URL',
  ERR_SSL_WRONG_VERSION_NUMBER: 'does not speak TLS: write redis in the URL, or set tls-port there',
  ERR_SSL_PACKET_LENGTH_TOO_LONG:
    'does not speak TLS: write redis in the URL, or set tls-port there',
};
const UNTRUSTED = /^(UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|CERT_|ERR_TLS_CERT)/;

const BY_WORDS: readonly (readonly [words: RegExp, text: string])[] = [
  [
    /^NOAUTH/,
    'wants a password: write it into the URL, as user:password@ before the host, or ?sentinel_password= for sentinels',
  ],
  [/^DENIED/, 'is in protected mode: give it a password, or bind it to an address'],
  [/max number of clients/, 'has no connection left for anybody: raise maxclients'],
  [/DB index/, 'has fewer databases than the URL asks for: correct its number at the end'],
  [/cluster support disabled/, 'is no node of a cluster: write redis:// in the URL'],
  [/unknown command .SENTINEL/i, 'is no sentinel: name sentinels in the URL, or write redis://'],
  [/^NOREPLICAS/, 'takes no writes without its replicas (min-replicas-to-write): look at them'],
  [/Socket timeout/, BY_REASON.timeout ?? ''],
  [/Connection is closed|Command aborted|isn't writeable/, BY_CODE.ECONNRESET ?? ''],
];

/** Follows the place: "refuses connections: start Redis ...". */
export function refusalText(error: unknown): string {
  const cause = causeOf(error);
  const { code = '' } = cause as NodeJS.ErrnoException;
  const right = missingRight(cause);
  if (right !== undefined) return rightText(right);
  if (UNTRUSTED.test(code)) {
    return `has a certificate that is not trusted (${code}): name its authority with NODE_EXTRA_CA_CERTS`;
  }
  return (
    BY_CODE[code] ??
    BY_WORDS.find(([words]) => words.test(cause.message))?.[1] ??
    BY_REASON[storeErrorFrom(cause).reason] ??
    `answers with an error: ${firstWords(cause.message)}`
  );
}

export function rightText(right: string): string {
  return `does not give the account the right ${right}: add it, as in deploy/redis/users.acl`;
}

/** In the spelling of an ACL; undefined when something else is wrong. */
export function missingRight(error: unknown): string | undefined {
  const { message } = causeOf(error);
  // The reply of a script begins with ERR; up to Redis 7.0 it does not say which command.
  if (!/^NOPERM|ACL failure in script|executing the script can't/.test(message)) return undefined;
  const command = /run the '([^']+)' command/.exec(message)?.[1];
  if (command !== undefined) return `+${command}`;
  if (/channel/.test(message)) return '&hg:v1:*';
  return /\bkeys?\b/.test(message) ? '~hg:v1:*' : 'to a command that scripts run';
}

function causeOf(error: unknown): Error {
  if (error instanceof StoreError && error.cause !== undefined) return causeOf(error.cause);
  return error instanceof Error ? error : new Error(String(error));
}

/** A command that a server does not know is repeated by it, and may be AUTH with the password. */
function firstWords(message: string): string {
  return message.replace(/, with args[\s\S]*/, '').slice(0, 200);
}
