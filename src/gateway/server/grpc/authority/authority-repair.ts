/** Repairs the `:authority` of each request in what a client sends on an HTTP/2 connection. */
import { repairBlock } from './header-block.ts';
import { FRAME_HEADER_LENGTH, framesOf, headersAt, isHeaders, lengthOf } from './headers-frames.ts';

/** What a client sends first: https://www.rfc-editor.org/rfc/rfc9113#section-3.4 */
const PREFACE_LENGTH = 24;

const NOTHING = Buffer.alloc(0);

export class AuthorityRepair {
  /** Headers that have not arrived completely. */
  #begun: Buffer = NOTHING;
  /** So many of the next bytes are passed on as they are. */
  #pass = PREFACE_LENGTH;

  /** Bytes to pass to Node. Buffers incomplete headers. */
  feed(chunk: Buffer): Buffer {
    const bytes = this.#begun.length === 0 ? chunk : Buffer.concat([this.#begun, chunk]);
    const done: Buffer[] = [];
    /** `done` has the bytes up to here. */
    let copied = 0;
    let at = this.#skip(bytes, 0);
    while (bytes.length - at >= FRAME_HEADER_LENGTH) {
      if (!isHeaders(bytes, at)) {
        this.#pass = FRAME_HEADER_LENGTH + lengthOf(bytes, at);
        at = this.#skip(bytes, at);
        continue;
      }
      const headers = headersAt(bytes, at);
      if (headers === 'incomplete') break;
      if (headers === 'refused') {
        this.#pass = Number.POSITIVE_INFINITY;
        at = bytes.length;
        break;
      }
      const block = repairBlock(headers.block);
      if (block !== undefined) {
        done.push(bytes.subarray(copied, at), framesOf(headers, block));
        copied = headers.end;
      }
      at = headers.end;
    }
    this.#begun = bytes.subarray(at);
    if (done.length === 0) return bytes.subarray(0, at);
    return Buffer.concat([...done, bytes.subarray(copied, at)]);
  }

  #skip(bytes: Buffer, from: number): number {
    const end = Math.min(from + this.#pass, bytes.length);
    this.#pass -= end - from;
    return end;
  }
}
