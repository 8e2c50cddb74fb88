/** The bytes of a client of HTTP/2 that speaks without TLS: for tunnels that no client library would use. */
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const HEADERS = 1;
const SETTINGS = 4;
const END_STREAM_AND_HEADERS = 0x05;

/** The preface, and a GET of the path on each of the streams. */
export function http2Requests(path: string, streams: readonly number[]): Buffer {
  const fields = [
    [':method', 'GET'],
    [':scheme', 'http'],
    [':authority', 'a'],
    [':path', path],
  ] as const;
  const block = Buffer.concat(fields.flatMap(([name, value]) => literal(name, value)));
  return Buffer.concat([
    Buffer.from(PREFACE),
    frame(SETTINGS, 0, 0, Buffer.alloc(0)),
    ...streams.map((stream) => frame(HEADERS, END_STREAM_AND_HEADERS, stream, block)),
  ]);
}

/** A field without compression: RFC 7541, section 6.2.2. */
function literal(name: string, value: string): Buffer[] {
  return [
    Buffer.from([0x00, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ];
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
