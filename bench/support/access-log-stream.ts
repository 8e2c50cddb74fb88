/** Reports finished requests as Envoy's access log does: entries are kept until they have 16 KiB, or for 100 ms. */
import { once } from 'node:events';
import { connect } from 'node:http2';
import { accessLogMessage, STREAM_ACCESS_LOGS } from '../../test/support/access-logs.ts';
import { field, frame } from '../../test/support/grpc-frames.ts';
import type { ReportedOutcome } from './settle-load.ts';

const FLUSH_BYTES = 16_384;
const FLUSH_MS = 100;

export interface AccessLogStream {
  report(token: string): void;
  /** Resolves once the server has read everything. */
  end(): Promise<void>;
}

export function openAccessLog(port: number, outcome: ReportedOutcome): AccessLogStream {
  const session = connect(`http://127.0.0.1:${port}`);
  const stream = session.request({
    ':method': 'POST',
    ':path': STREAM_ACCESS_LOGS,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.resume();
  const writeEntry = entryWriter(outcome);
  const identifier = { node: { id: 'edge', user_agent_name: 'envoy' }, log_name: 'headgate' };
  stream.write(frame(accessLogMessage({ identifier })));
  const entries = Buffer.allocUnsafe(2 * FLUSH_BYTES);
  let bytes = 0;
  const flush = () => {
    if (bytes > 0) stream.write(frame(field(2, entries.subarray(0, bytes))));
    bytes = 0;
  };
  const timer = setInterval(flush, FLUSH_MS);
  return {
    report(token) {
      bytes += writeEntry(token, entries, bytes);
      if (bytes >= FLUSH_BYTES) flush();
    },
    async end() {
      clearInterval(timer);
      flush();
      const ended = once(stream, 'close');
      stream.end();
      await ended;
      session.close();
    },
  };
}

/** Writes an entry at a place, and returns its length. Entries differ in their token only, so this program has little to do. */
function entryWriter(outcome: ReportedOutcome) {
  const entryOf = entryFor(outcome);
  const entries = new Map<number, { readonly bytes: Buffer; readonly place: number }>();
  return (token: string, into: Buffer, at: number): number => {
    let entry = entries.get(token.length);
    if (entry === undefined) {
      const bytes = entryOf(token);
      entry = { bytes, place: bytes.indexOf(token) };
      entries.set(token.length, entry);
    }
    entry.bytes.copy(into, at);
    into.write(token, at + entry.place, 'latin1');
    return entry.bytes.length;
  };
}

/** `HTTPAccessLogEntry`, with the fields that Envoy 1.40 fills for a request to an upstream. */
function entryFor({ headers = {}, units = {} }: ReportedOutcome): (token: string) => Buffer {
  const address = (port_value: number) => ({
    socket_address: { address: '10.100.100.100', port_value },
  });
  const took = (nanos: number) => ({ nanos });
  const http = accessLogMessage({
    http_logs: {
      log_entry: [
        {
          protocol_version: 'HTTP11',
          request: {
            request_method: 'POST',
            scheme: 'http',
            authority: 'api.example.com',
            path: '/v1/chat/completions',
            user_agent: 'python-httpx/0.28.1',
            request_id: '2faf95ab-a564-4ff1-9dee-000000000000',
            request_headers_bytes: 512,
            request_body_bytes: 1_204,
          },
          response: {
            response_code: { value: 200 },
            response_headers_bytes: 310,
            response_headers: headers,
            response_body_bytes: 2_906,
            response_code_details: 'via_upstream',
          },
        },
      ],
    },
  });
  const common = accessLogMessage({
    http_logs: {
      log_entry: [
        {
          common_properties: {
            downstream_remote_address: address(38_980),
            downstream_local_address: address(443),
            downstream_direct_remote_address: address(38_980),
            start_time: { seconds: 1_795_367_548, nanos: 926_390_000 },
            time_to_last_rx_byte: took(120_000),
            time_to_first_upstream_tx_byte: took(820_000),
            time_to_last_upstream_tx_byte: took(830_000),
            time_to_first_upstream_rx_byte: took(9_820_000),
            time_to_last_upstream_rx_byte: took(9_920_000),
            time_to_first_downstream_tx_byte: took(9_930_000),
            time_to_last_downstream_tx_byte: took(9_980_000),
            upstream_remote_address: address(8_000),
            upstream_local_address: address(41_002),
            upstream_cluster: 'application',
            route_name: 'application',
            upstream_request_attempt_count: 1,
            stream_id: '2faf95ab-a564-4ff1-9dee-000000000000',
            access_log_type: 'DownstreamEnd',
          },
        },
      ],
    },
  });
  const httpFields = inner(http, 2);
  const commonFields = inner(common, 3);
  const unitFields = Object.entries(units).map(([name, value]) => structField(name, number(value)));
  const counted =
    unitFields.length === 0 ? [] : [field(1, text(1, 'headgate'), field(2, ...unitFields))];
  return (token) => {
    const struct = structField('settle', text(3, token));
    const metadata = [field(1, text(1, 'envoy.filters.http.ext_authz'), field(2, struct))];
    const properties = field(1, commonFields, field(17, ...metadata, ...counted));
    return field(1, properties, httpFields);
  };
}

const text = (at: number, value: string) => field(at, Buffer.from(value));
const structField = (name: string, value: Buffer) => field(1, text(1, name), field(2, value));

function number(value: number): Buffer {
  const bytes = Buffer.alloc(9, 2 * 8 + 1);
  bytes.writeDoubleLE(value, 1);
  return bytes;
}

/** What the nested messages of this depth hold. */
function inner(message: Buffer, depth: number): Buffer {
  let bytes = message;
  for (let i = 0; i < depth; i++) {
    let at = 1;
    while ((bytes[at] ?? 0) >= 128) at++;
    bytes = bytes.subarray(at + 1);
  }
  return bytes;
}
