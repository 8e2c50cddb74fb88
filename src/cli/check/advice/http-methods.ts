/** The methods that Node's HTTP server accepts. */

// An import of node:http would read all that it exports, and so load fetch, which takes 30 ms.
export const { METHODS } = process.getBuiltinModule('node:http');
