/** The status that Envoy gives a denied call of gRPC. */
import type { HeaderFields } from '../../core/check-request.ts';
import type { Answer } from '../../core/dialect.ts';

/** Of gRPC (google/rpc/code.proto). */
export const RESOURCE_EXHAUSTED = 8;
/** Exactly what Envoy takes for a call (source/common/grpc/common.cc, `hasGrpcContentType`). */
const CALL = /^application\/grpc(?:$|\+)/;

/**
 * For a call of gRPC, Envoy makes UNAVAILABLE of a 429, which many clients repeat at once, unless the answer has this
 * header (source/common/http/utility.cc, `prepareLocalReply`). `sent`: the headers of the call, as far as Envoy sends them.
 */
export function withGrpcStatus(answer: Answer, sent: HeaderFields = {}): Answer {
  if (answer.status === 429 && CALL.test(String(sent['content-type']))) {
    answer.headers.push('Grpc-Status', String(RESOURCE_EXHAUSTED));
  }
  return answer;
}
