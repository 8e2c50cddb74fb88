/** How long a caller of the check server or the ops server may take to send a request. */
export const HTTP_LIMITS = {
  requestTimeout: 5_000,
  http: {
    // Proxies send a whole request at once. This is also how long a new connection may send nothing.
    headersTimeout: 3_000,
    connectionsCheckingInterval: 1_000,
  },
} as const;
