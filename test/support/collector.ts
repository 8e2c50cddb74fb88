/** An HTTP server that reads spans as an OpenTelemetry collector does: OTLP over http/protobuf. */
import { createServer } from 'node:http';
import protobuf from 'protobufjs';
import { eventually } from './eventually.ts';
import { listenLocally } from './local-server.ts';

/** The fields that the tests read, from opentelemetry/proto/trace/v1/trace.proto and what it includes. */
const { root } = protobuf.parse(`
  syntax = "proto3";
  message Export { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { repeated Span spans = 2; }
  message Span {
    bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
    fixed64 start = 7; fixed64 end = 8; repeated KeyValue attributes = 9; Status status = 15;
  }
  message Status { int32 code = 3; }
  message KeyValue { string key = 1; Value value = 2; }
  message Value { oneof value { string text = 1; bool flag = 2; int64 number = 3; } }
`);

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  /** 2: server, 3: client. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
  readonly service: unknown;
}

export interface Collector extends AsyncDisposable {
  readonly url: string;
  /** All that arrived. */
  readonly spans: readonly Span[];
  /** The bytes of every request, one character each. */
  received(): string;
  /** Resolves to the spans when there are at least so many. */
  got(spans: number): Promise<readonly Span[]>;
}

const EXPORTED_WITHIN_MS = 60_000;

export async function startCollector(): Promise<Collector> {
  const spans: Span[] = [];
  let bytes = '';
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    bytes += body.toString('latin1');
    if (request.url === '/v1/traces') spans.push(...spansIn(body));
    response.writeHead(request.url === '/v1/traces' ? 200 : 404).end();
  });
  const { port, [Symbol.asyncDispose]: close } = await listenLocally(server);
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    received: () => bytes,
    got: (count) =>
      eventually(
        async () => spans,
        ({ length }) => length >= count,
        EXPORTED_WITHIN_MS,
        `${count} spans`,
      ),
    [Symbol.asyncDispose]: close,
  };
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

// biome-ignore lint/suspicious/noExplicitAny: protobufjs has no types for what it reads.
type Read = any;

function spansIn(body: Buffer): Span[] {
  const type = root.lookupType('Export');
  const read: Read = type.toObject(type.decode(body), { longs: Number, arrays: true });
  return read.resourceSpans.flatMap(({ resource, scopeSpans }: Read) =>
    scopeSpans.flatMap(({ spans }: Read) =>
      spans.map((span: Read) => ({
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentSpanId: hex(span.parentSpanId),
        name: span.name,
        kind: span.kind,
        attributes: valuesOf(span.attributes),
        isError: span.status?.code === 2,
        service: valuesOf(resource.attributes)['service.name'],
      })),
    ),
  );
}

function hex(bytes: Buffer | undefined): string {
  return Buffer.from(bytes ?? []).toString('hex');
}

function valuesOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
