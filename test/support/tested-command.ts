/**
 * The headgate that the process tests start: the sources, on the Node of the tests. To test another one, as the built
 * package on an older Node, set TEST_MAIN to its bin/headgate.cjs and TEST_NODE to the path of a Node.
 */
import { fileURLToPath } from 'node:url';

export const MAIN =
  process.env.TEST_MAIN ?? fileURLToPath(new URL('../../src/main.ts', import.meta.url));
export const NODE = process.env.TEST_NODE ?? process.execPath;
