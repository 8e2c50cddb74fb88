import type { StoredKeys } from '../keys/stored-keys.ts';

/** For gateways whose store keeps no keys. */
export const NO_KEYS: StoredKeys = {
  find: () => undefined,
  isKnown: () => true,
  lookUp: () => undefined,
  clientOf: () => undefined,
  put: () => Promise.reject(new Error('this store keeps no keys')),
  ofId: async () => [],
  ofDigests: async (digests) => digests.map(() => undefined),
  replace: async () => [],
  announce: async () => {},
  remove: async () => 0,
  list: async () => ({ keys: [], next: undefined }),
};
