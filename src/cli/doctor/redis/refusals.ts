import { StoreError, type StoreErrorReason } from '../../../gateway/core/counting/store.ts';
import { storeErrorFrom } from '../../../gateway/stores/redis/failures.ts';

const BY_REASON: Readonly<Partial<Record<StoreErrorReason, string>>> = {
  timeout:
    'accepts connections but does not answer: it is frozen, overloaded or busy with one long command',
  refused: 'refuses connections: start Redis, or correct the host and port of the URL',
  loading: 'is loading its data: gateways can count there when it has finished',
  clusterdown: 'reports that its cluster is down: see CLUSTER INFO and CLUSTER NODES',
  readonly:
    'is a replica and refuses writes: put its master in the URL, or the sentinels that monitor it',
  oom: 'is full and refuses to count: raise maxmemory, or move other data to another server',
  misconf:
    'refuses writes because it cannot save to disk (MISCONF): free disk space, or turn snapshots off (save "")',
  busy: 'is busy with a script of another program (BUSY): end it with SCRIPT KILL',
  wrongpass: 'refuses this user and password: correct them in the URL',
  nolua:
    'runs no Lua, in which headgate counts: load the module lua of Valkey 9.1, or use a Redis or Valkey that has it',
};

/** The keys are error codes of the operating system and of OpenSSL. */
const BY_CODE: Readonly<Record<string, string>> = {
  ENOTFOUND: 'has a host name that DNS does not know: correct the host in the URL, or DNS',
  EAI_AGAIN: 'has a host name that could not be looked up: check the resolver of this machine',
  ETIMEDOUT:
    'does not accept connections: check the address, firewalls, and whether it uses TLS as the URL says',
  ENOENT:
    'has no socket at this path: start Redis with this unixsocket, or correct the path in the URL',
  EACCES:
    'does not let this user connect to its socket: set unixsocketperm 770, and add the user to the group of Redis',
  EHOSTUNREACH: 'cannot be reached from here: check the address and the network',
  ENETUNREACH: 'cannot be reached from here: check the address and the network',
  ECONNRESET: 'closes connections: if it expects TLS, write rediss:// in the URL',
  ERR_SSL_WRONG_VERSION_NUMBER:
    'does not use TLS: write redis:// in the URL, or set tls-port on the server',
  ERR_SSL_PACKET_LENGTH_TOO_LONG:
    'does not use TLS: write redis:// in the URL, or set tls-port on the server',
};
const UNTRUSTED = /^(UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|CERT_|ERR_TLS_CERT)/;

const BY_WORDS: readonly (readonly [words: RegExp, text: string])[] = [
  [
    /^NOAUTH/,
    'requires a password: add it to the URL, as user:password@ before the host, or as ?sentinel_password= for sentinels',
  ],
  [/^DENIED/, 'is in protected mode: set a password on it, or bind it to an address'],
  [/max number of clients/, 'has no free connections: raise maxclients'],
  [/DB index/, 'has fewer databases than the number in the URL: correct the number at its end'],
  [/cluster support disabled/, 'is not a cluster node: write redis:// in the URL'],
  [/unknown command .SENTINEL/i, 'is not a sentinel: put sentinels in the URL, or write redis://'],
  [
    /^NOREPLICAS/,
    'refuses writes without its replicas (min-replicas-to-write): check the replicas',
  ],
  [/Socket timeout/, BY_REASON.timeout ?? ''],
  [
    /[Cc]onnection (to Redis )?(is|was) closed|Command aborted|isn't writeable/,
    BY_CODE.ECONNRESET ?? '',
  ],
];

/** Says what an error means and what to do, after the name of the server: "refuses connections: start Redis ...". */
export function refusalText(error: unknown): string {
  const cause = causeOf(error);
  const { code = '' } = cause as NodeJS.ErrnoException;
  const right = missingRight(cause);
  if (right !== undefined) return rightText(right);
  if (UNTRUSTED.test(code)) {
    return `has a certificate that is not trusted (${code}): set NODE_EXTRA_CA_CERTS to the certificate of its authority`;
  }
  return (
    BY_CODE[code] ??
    BY_WORDS.find(([words]) => words.test(cause.message))?.[1] ??
    BY_REASON[storeErrorFrom(cause).reason] ??
    `replies with an error: ${firstWords(cause.message)}`
  );
}

export function rightText(right: string): string {
  return `does not give the account the right ${right}: add it, as in deploy/redis/users.acl`;
}

/** Returns the missing right as an ACL rule, and undefined for other errors. */
export function missingRight(error: unknown): string | undefined {
  const { message } = causeOf(error);
  // An error from inside a script begins with ERR. Up to Redis 7.0, it does not name the command.
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

/** Cuts off the arguments of an unknown command: the command may be AUTH, with the password. */
function firstWords(message: string): string {
  return message.replace(/, with args[\s\S]*/, '').slice(0, 200);
}
