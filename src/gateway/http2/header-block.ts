/** The headers or trailers of an answer, encoded once. */
import { Flag, FRAME_HEAD_BYTES, FrameType, writeFrameHead } from './frames.ts';
import { encodeFields, TABLE_SIZE_ZERO } from './hpack/encoder.ts';

const MAX_BYTES = 8_192;

/** A HEADERS frame without the number of its stream. */
export class HeaderBlock {
  readonly #block: Buffer;
  readonly open: Buffer;
  /** It ends the stream. */
  readonly last: Buffer;

  constructor(block: Buffer) {
    this.#block = block;
    this.open = frameOf(block, Flag.endHeaders);
    this.last = frameOf(block, Flag.endHeaders | Flag.endStream);
  }

  /** The answer to a peer that changed the size of its table (https://www.rfc-editor.org/rfc/rfc7541#section-4.2). */
  withTableSize(): HeaderBlock {
    return new HeaderBlock(Buffer.concat([TABLE_SIZE_ZERO, this.#block]));
  }
}

/** Names are in lower case, and pseudo-headers come first. Throws a RangeError if they are too long for a frame. */
export function headerBlock(fields: readonly [name: string, value: string][]): HeaderBlock {
  const block = encodeFields(fields);
  if (block.length > MAX_BYTES) throw new RangeError(`${block.length} bytes of headers`);
  return new HeaderBlock(block);
}

function frameOf(block: Buffer, flags: number): Buffer {
  const frame = Buffer.alloc(FRAME_HEAD_BYTES + block.length);
  writeFrameHead(frame, 0, { length: block.length, type: FrameType.headers, flags, stream: 0 });
  block.copy(frame, FRAME_HEAD_BYTES);
  return frame;
}
