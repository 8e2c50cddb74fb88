/** The request headers of a gRPC call, compressed (RFC 7541) as a client that keeps its connection sends them. */
import { literal } from '../../test/support/http2-frames.ts';

export interface IndexedHeaders {
  /** Of the first call of a connection: the server remembers the fields. */
  readonly first: Buffer;
  /** Of each later call: the numbers of the fields that the server remembers. */
  readonly later: Buffer;
}

/** In the static table: POST, http. */
const STATIC = [0x83, 0x86];
const FIRST_DYNAMIC = 62;
const INDEXED = 0x80;
/** The first byte of a field that the receiver is to remember. */
const REMEMBERED = 0x40;

/** Those that Envoy sends with a check, but for `x-forwarded-for`. */
export function indexedHeaders(path: string): IndexedHeaders {
  const fields = [
    [':path', path],
    [':authority', 'headgate'],
    ['te', 'trailers'],
    ['grpc-timeout', '10000m'],
    ['content-type', 'application/grpc'],
    ['x-envoy-internal', 'true'],
    ['x-envoy-expected-rq-timeout-ms', '10000'],
  ];
  const remembered = fields.map(([name = '', value = '']) => {
    const field = literal(name, value);
    field[0] = REMEMBERED;
    return field;
  });
  return {
    first: Buffer.concat([Buffer.from(STATIC), ...remembered]),
    // The newest field has the lowest number.
    later: Buffer.from([
      ...STATIC,
      ...fields.map((_, i) => INDEXED | (FIRST_DYNAMIC + fields.length - 1 - i)),
    ]),
  };
}
