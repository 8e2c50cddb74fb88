/**
 * The types of `RateLimitConfig`, with the names and numbers of ratelimit/config/ratelimit/v3/rls_conf.proto
 * (go-control-plane 2b88c16). Its `metadata` stands here as bytes: headgate skips it.
 */
const field = (id: number, type: string) => ({ id, type });
const repeated = (id: number, type: string) => ({ id, type, rule: 'repeated' });

export const RATE_LIMIT_PROTO = {
  options: { syntax: 'proto3' },
  nested: {
    ratelimit: {
      nested: {
        config: { nested: { ratelimit: { nested: { v3: { nested: types() } } } } },
      },
    },
  },
};

function types() {
  return {
    RateLimitConfig: {
      fields: {
        name: field(1, 'string'),
        domain: field(2, 'string'),
        descriptors: repeated(3, 'RateLimitDescriptor'),
      },
    },
    RateLimitDescriptor: {
      fields: {
        key: field(1, 'string'),
        value: field(2, 'string'),
        rate_limit: field(3, 'RateLimitPolicy'),
        descriptors: repeated(4, 'RateLimitDescriptor'),
        shadow_mode: field(5, 'bool'),
        detailed_metric: field(6, 'bool'),
        quota_mode: field(7, 'bool'),
        metadata: field(8, 'bytes'),
      },
    },
    RateLimitPolicy: {
      fields: {
        unit: field(1, 'RateLimitUnit'),
        requests_per_unit: field(2, 'uint32'),
        unlimited: field(3, 'bool'),
        name: field(4, 'string'),
        replaces: repeated(5, 'RateLimitReplace'),
      },
    },
    RateLimitReplace: { fields: { name: field(1, 'string') } },
    RateLimitUnit: {
      values: { UNKNOWN: 0, SECOND: 1, MINUTE: 2, HOUR: 3, DAY: 4, WEEK: 7, MONTH: 5, YEAR: 6 },
    },
  };
}
