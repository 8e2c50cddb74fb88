/** Status codes of gRPC (grpc.io/docs/guides/status-codes) that the gateway sends. */
import { MalformedMessage } from '../../protobuf/reader.ts';

export interface GrpcStatus {
  readonly code: number;
  /** ASCII without "%": it is sent as it is. */
  readonly message: string;
}

export const NOT_ABOUT_HTTP: GrpcStatus = {
  code: 3,
  message: 'The check is not about an HTTP request.',
};
export const UNKNOWN_SERVICE: GrpcStatus = { code: 5, message: 'The service is unknown.' };
export const UNAUTHORIZED: GrpcStatus = {
  code: 7,
  message: 'The proxy secret is missing or wrong.',
};
export const TOO_LONG: GrpcStatus = { code: 8, message: 'The message is too long.' };
export const REFUSED_MESSAGE: GrpcStatus = {
  code: 8,
  message: 'A message is too long, or compressed.',
};
export const TOO_MANY_STREAMS: GrpcStatus = {
  code: 8,
  message: 'The connection has too many open streams.',
};
export const UNKNOWN_METHOD: GrpcStatus = { code: 12, message: 'The method is unknown.' };
export const NOT_ONE_MESSAGE: GrpcStatus = { code: 12, message: 'Send one complete message.' };
export const UNKNOWN_ENCODING: GrpcStatus = {
  code: 12,
  message: 'The encoding is unknown. Send identity, gzip or deflate.',
};
export const MALFORMED: GrpcStatus = { code: 13, message: 'The message is malformed.' };
export const FAULT: GrpcStatus = { code: 13, message: 'The gateway failed.' };
export const STOPPING: GrpcStatus = { code: 14, message: 'The gateway is stopping.' };

export function statusOfError(error: unknown): GrpcStatus {
  return error instanceof MalformedMessage ? MALFORMED : FAULT;
}
