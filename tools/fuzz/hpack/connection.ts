/** One connection: header blocks of a model, right ones and then broken ones, through headgate's decoder. */
import { isDeepStrictEqual } from 'node:util';
import { CompressionError } from '../../../src/gateway/http2/hpack/block-reader.ts';
import { HeaderDecoder } from '../../../src/gateway/http2/hpack/decoder.ts';
import type { Random } from '../../../test/support/random.ts';
import { type Block, type Field, ModelPeer } from './model.ts';
import { mutated } from './mutate.ts';

const TABLE_BYTES = [0, 31, 64, 100, 4_096, 4_096, 4_096, 65_536];
const MOST_RIGHT = 20;
const MOST_BROKEN = 10;

/** What became of the blocks. */
export interface Counts {
  right: number;
  fields: number;
  brokenAndRead: number;
  refused: number;
}

export class Connection {
  readonly #random: Random;
  readonly #counts: Counts;
  readonly #model: ModelPeer;
  readonly #decoder: HeaderDecoder;
  readonly maxTableBytes: number;
  readonly sent: Buffer[] = [];

  constructor(random: Random, counts: Counts) {
    this.#random = random;
    this.#counts = counts;
    this.maxTableBytes = random.oneOf(TABLE_BYTES);
    this.#model = new ModelPeer(random, this.maxTableBytes);
    this.#decoder = new HeaderDecoder(this.maxTableBytes);
  }

  /** @throws The decoder is wrong. `sent` ends with the block that it read wrongly. */
  run(): void {
    for (let left = this.#random.below(MOST_RIGHT); left > 0; left--) {
      this.#expectFields(this.#random.next() < 0.1 ? this.#model.census() : this.#model.block());
    }
    this.#expectFields(this.#model.census());
    if (this.#random.next() < 0.1) {
      const beyond = this.#model.beyond();
      if (this.#read(beyond) !== undefined) throw new Error('an entry is behind the last one');
      return;
    }
    // Once a broken block was read, the table may differ from the model.
    for (let left = MOST_BROKEN; left > 0; left--) {
      const { bytes } = this.#model.block();
      if (this.#read(mutated(this.#random, bytes)) === undefined) return;
      this.#counts.brokenAndRead++;
    }
  }

  #expectFields({ bytes, fields }: Block): void {
    const read = this.#read(bytes);
    if (read === undefined) throw new Error('a right block was refused');
    if (!isDeepStrictEqual(read, fields)) throw new Error('the fields are others');
    this.#counts.right++;
    this.#counts.fields += fields.length;
  }

  /** Undefined if the block is refused. */
  #read(block: Buffer): Field[] | undefined {
    this.sent.push(block);
    const fields: Field[] = [];
    try {
      this.#decoder.decode(block, (name, value) => fields.push([name, value]));
      return fields;
    } catch (error) {
      if (!(error instanceof CompressionError)) throw error;
      this.#counts.refused++;
      return undefined;
    }
  }
}
