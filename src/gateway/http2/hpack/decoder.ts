/** Reads the header blocks of one direction of a connection: https://www.rfc-editor.org/rfc/rfc7541#section-6 */
import { BlockReader } from './block-reader.ts';
import { DynamicTable } from './dynamic-table.ts';
import { STATIC_END, STATIC_NAMES, STATIC_VALUES } from './static-table.ts';

/** What the first bytes of fields and instructions begin with. The rest of these bytes begins a number. */
const INDEXED = 0x80;
const ADDED = 0x40;
const TABLE_SIZE = 0x20;

/** A peer begins with this size, whatever it reads later: https://www.rfc-editor.org/rfc/rfc9113#section-6.5.2 */
const FIRST_TABLE_BYTES = 4_096;

type OnField = (name: string, value: string) => void;

export class HeaderDecoder {
  readonly #maxTableBytes: number;
  readonly #table: DynamicTable;

  /** `maxTableBytes` is the largest SETTINGS_HEADER_TABLE_SIZE that the peer was told, and 4,096 if it was told none. */
  constructor(maxTableBytes: number) {
    this.#maxTableBytes = maxTableBytes;
    this.#table = new DynamicTable(FIRST_TABLE_BYTES, maxTableBytes);
  }

  /**
   * Reads a complete block, also of a stream that is refused or gone: later blocks refer to what it adds to the table.
   * Names and values have one character per byte. A byte of the block can yield a field of the size of the table, but only
   * as a reference to texts that are there: the caller limits the sum of what it keeps. After an error of `onField`, too,
   * no later block can be read.
   *
   * @throws {CompressionError} The block breaks RFC 7541. No later block of the connection can be read.
   */
  decode(block: Buffer, onField: OnField): void {
    const reader = new BlockReader(block);
    this.#resize(block, reader);
    while (reader.at < block.length) {
      const first = block[reader.at] as number;
      if (first >= INDEXED) {
        const index = reader.integer(7);
        onField(this.#name(index, reader), this.#value(index));
      } else if (first >= ADDED) {
        const name = this.#literalName(reader, 6);
        const value = reader.string();
        this.#table.add(name, value);
        onField(name, value);
      } else if (first < TABLE_SIZE) {
        const name = this.#literalName(reader, 4);
        onField(name, reader.string());
      } else {
        throw reader.mistake('a size of the table stands behind a field');
      }
    }
  }

  /** Sizes stand at the beginning of a block: section 4.2. */
  #resize(block: Buffer, reader: BlockReader): void {
    while (((block[reader.at] ?? 0) & 0xe0) === TABLE_SIZE) {
      const bytes = reader.integer(5);
      if (bytes > this.#maxTableBytes) {
        throw reader.mistake(`the table may have ${this.#maxTableBytes} bytes, and not ${bytes}`);
      }
      this.#table.resize(bytes);
    }
  }

  #literalName(reader: BlockReader, bits: number): string {
    const index = reader.integer(bits);
    return index === 0 ? reader.string() : this.#name(index, reader);
  }

  #name(index: number, reader: BlockReader): string {
    if (index === 0 || index >= STATIC_END + this.#table.length) {
      throw reader.mistake(`no field has the number ${index}`);
    }
    return index < STATIC_END
      ? (STATIC_NAMES[index] as string)
      : this.#table.name(index - STATIC_END);
  }

  /** The name was read before. */
  #value(index: number): string {
    return index < STATIC_END
      ? (STATIC_VALUES[index] as string)
      : this.#table.value(index - STATIC_END);
  }
}
