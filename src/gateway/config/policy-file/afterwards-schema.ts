/** The keys of a limit that charges a request once its outcome is known. */
import { z } from 'zod';
import { MAX_OF_ANY_UNIT } from '../../core/counting/largest-limit.ts';
import {
  type Afterwards,
  REQUEST_INFO,
  type Refund,
  type Reserve,
} from '../../core/counting/outcome.ts';
import { headerName } from './header-names.ts';

const unit = z
  .string()
  .regex(
    /^[a-z][a-z0-9_-]{0,31}$/,
    'must have 1 to 32 characters of a-z, 0-9, "_" and "-", and begin with a letter',
  )
  .meta({ title: 'name (1 to 32 of a-z, 0-9, "_" and "-")', examples: ['tokens'] });

const units = z.int().min(1).max(MAX_OF_ANY_UNIT);

const reserveSource = z
  .strictObject({
    header: headerName
      .optional()
      .describe('The header whose value is reserved. It must be in identity.verified_headers.'),
    metadata: z
      .literal(REQUEST_INFO)
      .optional()
      .describe('Metadata of Envoy over gRPC: estimated input tokens plus max_output_tokens.'),
  })
  .refine(
    ({ header, metadata }) => (header === undefined) !== (metadata === undefined),
    'must have either header or metadata',
  )
  .transform(
    ({ header, metadata = '' }): Reserve => (header === undefined ? { metadata } : { header }),
  );

const RESERVE = `must be a number of units, { header: x-reserve } or { metadata: ${REQUEST_INFO} }`;
const REFUND =
  'must be a map, as in { header: { x-login: ok } }, { status: [204] } or { location: /account }';

const responseHeader = z
  .string()
  .regex(/^[a-z0-9-]+$/, 'must be the name of a header in lower case')
  .meta({ title: 'header name' });

const HEADER_VALUE = 'must be the text that the header has: write it in quotes';

/** Two slashes would begin a host. */
const location = z
  .string()
  .regex(/^\/(?!\/)[^?#\s]{0,1023}$/, 'must be a path such as /account, without host and query')
  .meta({ title: 'path', examples: ['/account'] });

const refund = z
  .strictObject(
    {
      status: z
        .array(z.int().min(200).max(599))
        .min(1)
        .max(32)
        .optional()
        .describe('Statuses of the response of the application, never of one that a proxy made.'),
      header: z
        .record(
          responseHeader,
          z.string(HEADER_VALUE).min(1).max(256),
          'must be a map, as in { x-login: ok }',
        )
        .refine((headers) => Object.keys(headers).length > 0, 'must name a header, as x-login: ok')
        .optional()
        .describe(
          'Headers of the response of the application, each with the value that it must have.',
        ),
      location: location.optional().describe('The path to which the response redirects.'),
    },
    REFUND,
  )
  .refine(
    (written) => Object.values(written).some((each) => each !== undefined),
    'must have a status, a header or a location, as in { header: { x-login: ok } }',
  );

export const afterwardsKeys = {
  unit: unit
    .optional()
    .describe('What the limit counts in place of requests, such as tokens. Needs reserve.'),
  reserve: z
    .union([units, reserveSource], RESERVE)
    .optional()
    .describe(
      'Units that a request takes until its outcome is known, at most the limit: a number, or read from a header or metadata.',
    ),
  unknown: units
    .optional()
    .describe(
      'Units of an outcome that does not tell how many it took, and of a request without a valid value to reserve: those of the largest response.',
    ),
  refund: refund
    .optional()
    .describe('Outcomes that cost nothing. One match of status, header or location is enough.'),
};

type Written = z.output<z.ZodObject<typeof afterwardsKeys>>;

/** Undefined if the limit counts requests for good when they arrive. */
export function afterwardsOf({ unit, reserve, unknown, refund }: Written): Afterwards | undefined {
  if (unit === undefined && reserve === undefined && refund === undefined) return undefined;
  return { unit, reserve, unknown, refund: refund && refundOf(refund) };
}

function refundOf({ status, header, location }: z.output<typeof refund>): Refund {
  return {
    status: new Set(status),
    headers: new Map(Object.entries(header ?? {})),
    locations: new Set(location === undefined ? [] : [location]),
  };
}
