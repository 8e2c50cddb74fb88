/** Messages with a name in field 1 and bytes or a message in field 2: entries of maps, and `google.protobuf.Any`. */
import { type Fields, RepeatedTexts } from './reader.ts';

interface NamedValue {
  name: string;
  /** A view of the message, so values that nobody reads cost nothing. */
  value: Buffer;
}

const names = new RepeatedTexts();
const NO_BYTES = Buffer.alloc(0);

export const NAMED_VALUE: Fields<NamedValue> = {
  1: (reader, named) => {
    named.name = reader.repeated(names);
  },
  2: (reader, named) => {
    named.value = reader.bytes();
  },
};

export function emptyValue(): NamedValue {
  return { name: '', value: NO_BYTES };
}
