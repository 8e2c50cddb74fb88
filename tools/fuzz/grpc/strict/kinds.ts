/** The calls that strict clients make, and the answers that they expect. */
import {
  CHECK,
  CHECK_MESSAGE,
  field,
  frame as message,
} from '../../../../test/support/grpc-frames.ts';
import type { Random } from '../../../../test/support/random.ts';
import type { Field } from '../hpack.ts';
import type { TableEncoder } from '../table-encoder.ts';
import type { Expected } from './received-call.ts';

const HEALTH = '/grpc.health.v1.Health';
const SERVING = message(Buffer.from([8, 1]));

export interface Kind {
  readonly path: string;
  readonly type?: string;
  readonly bytes: (random: Random) => Buffer;
  readonly expected: Omit<Expected, 'label'>;
}

/** A field that is skipped makes it longer than the windows are at first. */
const longCheck = (bytes: number) =>
  message(Buffer.concat([CHECK_MESSAGE, field(500, Buffer.alloc(bytes, 'a'))]));

const CHECK_KIND: Kind = {
  path: CHECK,
  bytes: () => message(CHECK_MESSAGE),
  expected: { statuses: ['0'] },
};
export const KINDS: readonly Kind[] = [
  CHECK_KIND,
  CHECK_KIND,
  {
    ...CHECK_KIND,
    bytes: (random) => longCheck(random.below(100_000)),
  },
  { path: CHECK, bytes: () => message(Buffer.alloc(9, 0xff)), expected: { statuses: ['3', '13'] } },
  { path: CHECK, bytes: () => Buffer.alloc(0), expected: { statuses: ['3', '12', '13'] } },
  { path: '/x/Y', bytes: () => message(Buffer.alloc(50)), expected: { statuses: ['12'] } },
  {
    path: CHECK,
    type: 'text/plain',
    bytes: () => Buffer.from('text'),
    expected: { statuses: ['HTTP 415'] },
  },
  {
    path: `${HEALTH}/Check`,
    bytes: () => message(Buffer.alloc(0)),
    expected: { statuses: ['0'], body: SERVING },
  },
  {
    path: `${HEALTH}/Watch`,
    bytes: () => message(Buffer.alloc(0)),
    expected: { statuses: [], staysOpen: true },
  },
];

/** Together they need more than the window of a connection, so that credit which is missing stops them. */
export const LARGE_KINDS: readonly Kind[] = [
  { ...CHECK_KIND, bytes: (random) => longCheck(100_000 + random.below(400_000)) },
];

export function requestBlock(kind: Kind, encoder: TableEncoder, random: Random): Buffer {
  const { path, type = 'application/grpc' } = kind;
  const fields: Field[] = [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', path],
  ];
  const more: Field[] = [
    ['content-type', type],
    ['te', 'trailers'],
    [`x-${random.below(30)}`, 'v'.repeat(random.below(150))],
  ];
  const first = encoder.block(fields);
  const authority =
    random.next() < 0.3
      ? encoder.huffmanAuthority()
      : encoder.block([[':authority', random.oneOf(['a', 'outbound|80||r'])]]);
  return Buffer.concat([first, authority, encoder.block(more)]);
}
