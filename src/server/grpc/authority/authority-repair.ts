/** Repairs the `:authority` of each request in what a client sends on an HTTP/2 connection. */
import { repairBlock } from './header-block.ts';

/** What a client sends first: https://www.rfc-editor.org/rfc/rfc9113#section-3.4 */
const PREFACE_LENGTH = 24;
const FRAME_HEADER_LENGTH = 9;
/** The most that Node lets clients send. It ends connections with longer frames. */
const LONGEST_FRAME = 16_384;
const HEADERS = 1;
const END_HEADERS = 0x4;
const PADDED = 0x8;
const PRIORITY = 0x20;
const PRIORITY_LENGTH = 5;

const NOTHING = Buffer.alloc(0);

export class AuthorityRepair {
  /** A request's headers have arrived. */
  hasHeaders = false;
  /** One of them needed repair. */
  hasRepaired = false;
  /** The part of a frame that has arrived. */
  #begun: Buffer = NOTHING;
  #skip = PREFACE_LENGTH;
  #isBroken = false;

  /** What Node shall get of these bytes and those before. Keeps the beginning of a frame until its end arrives. */
  feed(chunk: Buffer): Buffer {
    if (this.#isBroken) return chunk;
    const bytes = this.#begun.length === 0 ? chunk : Buffer.concat([this.#begun, chunk]);
    const done: Buffer[] = [];
    /** Up to here, bytes are in `done`. */
    let copied = 0;
    let at = Math.min(this.#skip, bytes.length);
    this.#skip -= at;
    while (bytes.length - at >= FRAME_HEADER_LENGTH) {
      const length = bytes.readUIntBE(at, 3);
      if (length > LONGEST_FRAME) {
        this.#isBroken = true;
        at = bytes.length;
        break;
      }
      const end = at + FRAME_HEADER_LENGTH + length;
      if (end > bytes.length) break;
      const repaired = this.#repair(bytes.subarray(at, end));
      if (repaired !== undefined) {
        done.push(bytes.subarray(copied, at), repaired);
        copied = end;
      }
      at = end;
    }
    this.#begun = bytes.subarray(at);
    if (done.length === 0) return bytes.subarray(0, at);
    return Buffer.concat([...done, bytes.subarray(copied, at)]);
  }

  #repair(frame: Buffer): Buffer | undefined {
    if (frame[3] !== HEADERS) return undefined;
    this.hasHeaders = true;
    const flags = frame[4] as number;
    // No gRPC client is known that pads headers, or needs a second frame for them.
    if ((flags & END_HEADERS) === 0 || (flags & PADDED) !== 0) return undefined;
    const start = FRAME_HEADER_LENGTH + ((flags & PRIORITY) === 0 ? 0 : PRIORITY_LENGTH);
    const block = repairBlock(frame.subarray(start));
    if (block === undefined) return undefined;
    const length = start - FRAME_HEADER_LENGTH + block.length;
    // Node resets the request, as without this.
    if (length > LONGEST_FRAME) return undefined;
    this.hasRepaired = true;
    const repaired = Buffer.concat([frame.subarray(0, start), block]);
    repaired.writeUIntBE(length, 0, 3);
    return repaired;
  }
}
