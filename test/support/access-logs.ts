/** Envoy's access logs, written with the message definitions of Envoy; those of headgate are an excerpt. */
import { loadSync } from '@grpc/proto-loader';
import { messageOf, PROTO_FOLDERS } from './grpc-client.ts';

export const STREAM_ACCESS_LOGS = '/envoy.service.accesslog.v3.AccessLogService/StreamAccessLogs';

const PROTOS = loadSync('envoy/service/accesslog/v3/als.proto', {
  keepCase: true,
  includeDirs: PROTO_FOLDERS,
});
const MESSAGE = messageOf(PROTOS, 'envoy.service.accesslog.v3.StreamAccessLogsMessage');

export interface LoggedRequest {
  readonly token?: unknown;
  /** Of the namespace `headgate`. */
  readonly units?: Readonly<Record<string, unknown>>;
  readonly status?: number;
  readonly details?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The name of an `AccessLogType`. */
  readonly type?: string;
  readonly isIntermediate?: boolean;
}

/** The bytes of a message about these requests. */
export function accessLog(...requests: readonly LoggedRequest[]): Buffer {
  return accessLogMessage({ http_logs: { log_entry: requests.map(logEntry) } });
}

export const accessLogMessage = (message: object): Buffer => MESSAGE.serialize(message);

/** The first message of a stream. Its node names all extensions of an Envoy. */
export function firstAccessLog(...requests: readonly LoggedRequest[]): Buffer {
  const extensions = Array.from({ length: 900 }, (_, i) => ({
    name: `envoy.filters.http.extension_${i}`,
    category: 'envoy.filters.http',
  }));
  return accessLogMessage({
    identifier: {
      node: { id: 'edge', user_agent_name: 'envoy', extensions },
      log_name: 'headgate',
    },
    http_logs: { log_entry: requests.map(logEntry) },
  });
}

function logEntry(request: LoggedRequest): object {
  const { token, units, status = 200, details = 'via_upstream', headers = {} } = request;
  const { type = 'DownstreamEnd', isIntermediate = false } = request;
  const filter_metadata = {
    'envoy.filters.http.rbac': struct({ shadow_engine_result: 'allowed' }),
    ...(token !== undefined && { 'envoy.filters.http.ext_authz': struct({ settle: token }) }),
    ...(units !== undefined && { headgate: struct(units) }),
  };
  return {
    common_properties: {
      upstream_cluster: 'application',
      stream_id: 'f2b2c9c8',
      metadata: { filter_metadata },
      access_log_type: type,
      intermediate_log_entry: isIntermediate,
    },
    request: { request_method: 'POST', path: '/v1/chat/completions', authority: 'api.example.com' },
    response: {
      response_code: { value: status },
      response_headers: headers,
      response_code_details: details,
    },
  };
}

function struct(values: Readonly<Record<string, unknown>>): object {
  return { fields: Object.fromEntries(Object.entries(values).map(([k, v]) => [k, value(v)])) };
}

/** The library has its own definition of this message, with names in camel case. */
function value(given: unknown): object {
  if (typeof given === 'number') return { numberValue: given };
  if (typeof given === 'string') return { stringValue: given };
  return { boolValue: Boolean(given) };
}
