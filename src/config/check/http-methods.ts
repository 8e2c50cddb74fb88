/** The methods that Node's HTTP server accepts. */

// An import of node:http would read all that it exports, and so load fetch. That takes longer than most checks.
export const { METHODS } = process.getBuiltinModule('node:http');
