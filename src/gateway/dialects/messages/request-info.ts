/**
 * Reads what Envoy says of a request to a language model. The field numbers are those of envoy/config/core/v3/base.proto
 * (Metadata), google/protobuf/{any,wrappers}.proto, and envoy/data/ai/v3/request_info.proto of Envoy 1.40. Its filter
 * `envoy.http.ai_filters.request_info` reads the body, so nothing of it is sent to the gateway.
 */
import { REQUEST_INFO } from '../../core/counting/outcome.ts';
import {
  type Fields,
  MalformedMessage,
  number,
  ProtobufReader,
  RepeatedTexts,
} from '../../protobuf/reader.ts';

interface Estimating {
  estimates: Map<string, number> | undefined;
}

const TYPE_URL = 'type.googleapis.com/envoy.data.ai.v3.RequestInfo';

interface TypedEntry {
  namespace: string;
  /** The `google.protobuf.Any`. A view of the message, so metadata of other filters costs nothing. */
  value: Buffer | undefined;
}

interface TypedValue {
  typeUrl: string;
  value: Buffer | undefined;
}

interface RequestInfo {
  maxOutputTokens: Wrapped | undefined;
  estimatedInputTokens: Wrapped | undefined;
}

interface Wrapped {
  value: number;
}

const namespaces = new RepeatedTexts();

const TYPED_ENTRY: Fields<TypedEntry> = {
  1: (reader, entry) => {
    entry.namespace = reader.repeated(namespaces);
  },
  2: (reader, entry) => {
    entry.value = reader.bytes();
  },
};

const TYPED_VALUE: Fields<TypedValue> = {
  1: (reader, any) => {
    any.typeUrl = reader.repeated(namespaces);
  },
  2: (reader, any) => {
    any.value = reader.bytes();
  },
};

const WRAPPED: Fields<Wrapped> = {
  1: number((wrapped, value) => {
    wrapped.value = value;
  }),
};

const REQUEST_INFO_FIELDS: Fields<RequestInfo> = {
  4: (reader, info) => {
    info.maxOutputTokens = { value: 0 };
    reader.fieldsUntil(reader.endOfValue(), WRAPPED, info.maxOutputTokens);
  },
  7: (reader, info) => {
    info.estimatedInputTokens = { value: 0 };
    reader.fieldsUntil(reader.endOfValue(), WRAPPED, info.estimatedInputTokens);
  },
};

const TYPED_FILTER_METADATA = 2;

/** Untyped metadata, which is field 1, is skipped. */
export const METADATA: Fields<Estimating> = {
  [TYPED_FILTER_METADATA]: (reader, check) => {
    const entry: TypedEntry = { namespace: '', value: undefined };
    reader.fieldsUntil(reader.endOfValue(), TYPED_ENTRY, entry);
    if (entry.namespace !== REQUEST_INFO || entry.value === undefined) return;
    const tokens = tokensOf(entry.value);
    check.estimates = tokens === undefined ? undefined : new Map([[REQUEST_INFO, tokens]]);
  },
};

/**
 * Undefined if a part is missing: without `max_output_tokens` a client may get as much as the model can write. It is bad
 * metadata if the bytes are malformed, and no reason to refuse the request.
 */
function tokensOf(any: Buffer): number | undefined {
  try {
    const typed: TypedValue = { typeUrl: '', value: undefined };
    new ProtobufReader(any).fieldsUntil(any.length, TYPED_VALUE, typed);
    if (typed.typeUrl !== TYPE_URL || typed.value === undefined) return undefined;
    const info: RequestInfo = { maxOutputTokens: undefined, estimatedInputTokens: undefined };
    new ProtobufReader(typed.value).fieldsUntil(typed.value.length, REQUEST_INFO_FIELDS, info);
    const { maxOutputTokens, estimatedInputTokens } = info;
    if (maxOutputTokens === undefined || estimatedInputTokens === undefined) return undefined;
    return maxOutputTokens.value + estimatedInputTokens.value;
  } catch (error) {
    if (error instanceof MalformedMessage) return undefined;
    throw error;
  }
}
