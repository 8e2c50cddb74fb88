/**
 * Reads what Envoy says of a request to a language model. The field numbers are those of envoy/config/core/v3/base.proto
 * (Metadata), google/protobuf/{any,wrappers}.proto, and envoy/data/ai/v3/request_info.proto of Envoy 1.40. Its filter
 * `envoy.http.ai_filters.request_info` reads the body, so nothing of it is sent to the gateway.
 */
import { REQUEST_INFO } from '../../core/counting/outcome.ts';
import { emptyValue, NAMED_VALUE } from '../../protobuf/named-value.ts';
import {
  type Fields,
  MalformedMessage,
  type ReadField,
  readMessage,
} from '../../protobuf/reader.ts';

interface WithMetadata {
  estimates: Map<string, number> | undefined;
  hasFilterMetadata: boolean;
}

const TYPE_URL = 'type.googleapis.com/envoy.data.ai.v3.RequestInfo';

/** `NaN` is a part that is missing. */
interface RequestInfo {
  maxOutputTokens: number;
  estimatedInputTokens: number;
}

function wrapped(key: keyof RequestInfo): ReadField<RequestInfo> {
  return (reader, info) => {
    info[key] = reader.wrappedNumber();
  };
}

const REQUEST_INFO_FIELDS: Fields<RequestInfo> = {
  4: wrapped('maxOutputTokens'),
  7: wrapped('estimatedInputTokens'),
};

const FILTER_METADATA = 1;
const TYPED_FILTER_METADATA = 2;

/** Untyped metadata is only noticed: `filter-metadata.ts` reads it, if the policy file names something of it. */
export const METADATA: Fields<WithMetadata> = {
  [FILTER_METADATA]: (reader, check) => {
    check.hasFilterMetadata = true;
    reader.skipValue();
  },
  [TYPED_FILTER_METADATA]: (reader, check) => {
    const { name, value } = reader.message(NAMED_VALUE, emptyValue());
    if (name !== REQUEST_INFO) return;
    const tokens = tokensOf(value);
    check.estimates = Number.isNaN(tokens) ? undefined : new Map([[REQUEST_INFO, tokens]]);
  },
};

/**
 * NaN if a part is missing: without `max_output_tokens` a client may get as much as the model can write. It is bad metadata
 * if the bytes are malformed, and no reason to refuse the request.
 */
function tokensOf(any: Buffer): number {
  const info: RequestInfo = { maxOutputTokens: Number.NaN, estimatedInputTokens: Number.NaN };
  try {
    const { name, value } = readMessage(any, NAMED_VALUE, emptyValue());
    if (name === TYPE_URL) readMessage(value, REQUEST_INFO_FIELDS, info);
  } catch (error) {
    if (!(error instanceof MalformedMessage)) throw error;
    return Number.NaN;
  }
  return info.maxOutputTokens + info.estimatedInputTokens;
}
