/** How long a caller of either server may take to say what it wants. */
export const HTTP_LIMITS = {
  requestTimeout: 5_000,
  http: {
    // Those who ask send a whole request at once; this is also how long a connection may say nothing at all.
    headersTimeout: 3_000,
    connectionsCheckingInterval: 1_000,
  },
} as const;
