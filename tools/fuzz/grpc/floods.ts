/** Many frames of one kind, or a few that cost much: what a server must bound. */
import { CHECK } from '../../../test/support/grpc-frames.ts';
import { integer } from '../../../test/support/hpack.ts';
import { callHeaders, frame } from '../../../test/support/http2-frames.ts';
import type { Random } from '../../../test/support/random.ts';
import { type Part, part } from '../plan.ts';
import { ACK, END_STREAM, TYPE, uint32 } from './frame-writer.ts';
import { string } from './hpack.ts';

const END_HEADERS = 0x4;
const PADDED = 0x8;
const CANCEL = 8;
const HEADER_TABLE_SIZE = 1;
const INITIAL_WINDOW_SIZE = 4;
const LONGEST = 16_384;

type Flood = (stream: number, random: Random) => readonly Uint8Array[];

/** `stream` is a number that was not used. */
export function flood(random: Random, stream: number): Part {
  const [name, frames] = random.oneOf(Object.entries(FLOODS));
  const bytes = Buffer.concat(frames(stream, random));
  return part(`flood of ${name} on ${stream}, ${bytes.length} bytes`, bytes);
}

const many = (random: Random, make: (i: number) => Uint8Array, most = 6_000) =>
  Array.from({ length: random.below(most) }, (_, i) => make(i));
const setting = (id: number, value: number) =>
  frame(TYPE.settings, 0, 0, Buffer.concat([uint32(id).subarray(2), uint32(value)]));
const opened = (stream: number) => callHeaders(stream, { path: CHECK });
const credit = (stream: number, by: number) => frame(TYPE.windowUpdate, 0, stream, uint32(by));

const FLOODS: Readonly<Record<string, Flood>> = {
  pings: (_, random) => many(random, () => frame(TYPE.ping, 0, 0, Buffer.alloc(8))),
  'ping acknowledgements': (_, random) =>
    many(random, () => frame(TYPE.ping, ACK, 0, Buffer.alloc(8))),
  settings: (_, random) => many(random, (i) => setting(i % 2 === 0 ? 1 : 4, random.below(70_000))),
  'settings acknowledgements': (_, random) => many(random, () => frame(TYPE.settings, ACK, 0)),
  'long settings': (_, random) =>
    many(random, () => frame(TYPE.settings, 0, 0, Buffer.alloc(LONGEST - 4, 0)), 40),
  priorities: (stream, random) =>
    many(random, (i) => frame(TYPE.priority, 0, stream + 2 * i, Buffer.alloc(5))),
  'unknown frames': (stream, random) => many(random, () => frame(0xbb, 0xff, stream)),
  'credit for the connection': (_, random) => many(random, () => credit(0, 1)),
  'credit for a stream': (stream, random) => [
    opened(stream),
    ...many(random, () => credit(stream, 1)),
  ],
  'empty data': (stream, random) => [
    opened(stream),
    ...many(random, () => frame(TYPE.data, 0, stream)),
  ],
  'data of one byte': (stream, random) => [
    opened(stream),
    ...many(random, () => frame(TYPE.data, 0, stream, Buffer.alloc(1)), 70_000),
  ],
  'padding alone': (stream, random) => {
    const payload = Buffer.alloc(256);
    payload[0] = 255;
    return [opened(stream), ...many(random, () => frame(TYPE.data, PADDED, stream, payload), 500)];
  },
  'empty continuations': (stream, random) => [
    frame(TYPE.headers, 0, stream),
    ...many(random, () => frame(TYPE.continuation, 0, stream)),
  ],
  'long continuations': (stream, random) => [
    frame(TYPE.headers, 0, stream, Buffer.alloc(LONGEST, 0x86)),
    ...many(random, () => frame(TYPE.continuation, 0, stream, Buffer.alloc(LONGEST, 0x86)), 12),
  ],
  'streams that are reset': (stream, random) =>
    many(
      random,
      (i) => {
        const id = stream + 2 * i;
        return Buffer.concat([opened(id), frame(TYPE.reset, 0, id, uint32(CANCEL))]);
      },
      3_000,
    ),
  'streams that the server must reset': (stream, random) =>
    many(
      random,
      (i) => {
        const id = stream + 2 * i;
        return Buffer.concat([opened(id), credit(id, 0)]);
      },
      3_000,
    ),
  'streams that stay open': (stream, random) => many(random, (i) => opened(stream + 2 * i), 2_500),
  'requests without bodies': (stream, random) =>
    many(random, (i) => frame(TYPE.headers, END_STREAM | END_HEADERS, stream + 2 * i, BARE), 3_000),
  'bytes beyond the windows': (stream) => [
    opened(stream),
    ...Array.from({ length: 5 }, () => frame(TYPE.data, 0, stream, Buffer.alloc(LONGEST))),
  ],
  'bodies that do not end': (stream, random) =>
    many(
      random,
      (i) => {
        const id = stream + 2 * i;
        const body = Array.from({ length: 3 }, () =>
          frame(TYPE.data, 0, id, Buffer.alloc(LONGEST)),
        );
        return Buffer.concat([opened(id), ...body]);
      },
      30,
    ),
  'references to a long entry': (stream, random) => {
    const entry = [Buffer.from([0x40]), string('x-long'), string('a'.repeat(4_000))];
    const references = Buffer.alloc(random.below(16_000), integer(0x80, 7, 62));
    return [
      frame(TYPE.headers, END_HEADERS, stream, Buffer.concat([BARE, ...entry])),
      frame(TYPE.headers, END_HEADERS, stream + 2, Buffer.concat([BARE, references])),
    ];
  },
  'entries that push each other out': (stream, random) =>
    many(
      random,
      (i) => {
        const entry = [
          Buffer.from([0x40]),
          string(`x-${i}`),
          string('b'.repeat(random.below(3_000))),
        ];
        const all = Array.from({ length: 4 }, () => Buffer.concat(entry));
        return frame(TYPE.headers, END_HEADERS, stream + 2 * i, Buffer.concat([BARE, ...all]));
      },
      60,
    ),
  'sizes of the table': (stream, random) => {
    const sizes = many(random, () => integer(0x20, 5, random.oneOf([0, 1, 4_096])), 5_000);
    return [frame(TYPE.headers, END_HEADERS, stream, Buffer.concat([...sizes, BARE]))];
  },
  'windows that grow and shrink': (stream, random) => [
    setting(INITIAL_WINDOW_SIZE, 0),
    ...many(
      random,
      (i) => frame(TYPE.headers, END_STREAM | END_HEADERS, stream + 2 * i, BARE),
      400,
    ),
    ...many(random, () => setting(INITIAL_WINDOW_SIZE, random.oneOf([0, 1, 30])), 1_000),
    setting(HEADER_TABLE_SIZE, 0),
  ],
};

/** POST, http, /. */
const BARE = Buffer.from([0x83, 0x86, 0x84]);
