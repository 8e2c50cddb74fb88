import { z } from 'zod';
import { METHOD_PATTERN } from '../../config/policy-file/match.ts';
import { DIALECT_NAMES } from '../../dialects/index.ts';
import type { Operation } from '../operation.ts';
import {
  ADDRESS_FORM,
  DEFAULT_DIALECT,
  HEADER_FORM,
  HEADER_NAME_PATTERN,
  HEADER_VALUE_PATTERN,
  isAddressText,
  isHeader,
  isMethod,
  isTarget,
  METHOD_FORM,
  URL_FORM,
  URL_PATTERN,
} from '../request-form.ts';
import { ADDRESS_PATTERN, count, optional } from './fields.ts';

/** Node reads no request line that is longer. */
const LONGEST_URL = 16_384;

const address = z.string().refine(isAddressText, ADDRESS_FORM).meta({ pattern: ADDRESS_PATTERN });
const headerValue = z.string().meta({ pattern: HEADER_VALUE_PATTERN });

export const EXPLAIN = {
  method: 'POST',
  path: '/v1/explain',
  summary: 'Explain how a request would be decided now; nothing is counted',
  input: z.strictObject({
    method: z
      .string()
      .refine(isMethod, METHOD_FORM)
      .meta({ pattern: METHOD_PATTERN.source })
      .default('GET')
      .describe('Method of the request.'),
    url: z
      .string()
      .min(1)
      .max(LONGEST_URL)
      .refine(isTarget, URL_FORM)
      .meta({ pattern: URL_PATTERN })
      .describe('A path or a URL, exactly as the client sends it.'),
    headers: z
      .record(z.string(), z.union([headerValue, z.array(headerValue)]))
      .refine(
        (headers) => Object.entries(headers).every(([name, values]) => isHeader(name, values)),
        HEADER_FORM,
      )
      .meta({ propertyNames: { pattern: HEADER_NAME_PATTERN } })
      .default({})
      .describe('Headers of the request: a value, or a list of values, for each name.'),
    metadata: optional(
      z.record(z.string(), z.record(z.string(), z.unknown())),
      'What filters of Envoy say of the request, by their namespace.',
    ),
    peer: optional(address, 'The address that connected to the proxy.'),
    client: optional(address, 'The client address that the proxy reports.'),
    proxy: address.default('127.0.0.1').describe('The address of the proxy.'),
    dialect: z
      .enum(DIALECT_NAMES)
      .default(DEFAULT_DIALECT)
      .describe('The proxy whose answer is shown.'),
  }),
  output: z.object({
    steps: z.array(z.object({ about: z.string(), what: z.string() })),
    store_unavailable: optional(
      z.string(),
      'Present if the store does not answer: the answer is that of `on_store_failure`.',
    ),
    answer: z.object({
      // Gateways of older versions answer as Envoy gets it, and do not say so.
      dialect: z.string().default(DEFAULT_DIALECT).describe('The proxy that gets this answer.'),
      status: count,
      headers: z.array(z.string()).describe('Name, value, name, value.'),
      body: z.string(),
    }),
  }),
} satisfies Operation;
