/** The headers or trailers of an answer, encoded once. */
import { Flag, FrameType, frameOf } from './frames.ts';
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
    this.open = frameOf(FrameType.headers, Flag.endHeaders, block);
    this.last = frameOf(FrameType.headers, Flag.endHeaders | Flag.endStream, block);
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
