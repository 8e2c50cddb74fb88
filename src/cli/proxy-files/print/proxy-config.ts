/**
 * Writes the configuration file of a proxy from the policy file and the settings. The files in deploy/ are the templates:
 * only marked regions and two addresses change. For the shipped policy file nothing changes.
 */
export { clientHeadersOf, sentByClients } from './client-headers.ts';
export {
  hasFailureRoutes,
  isSameFailureRegion,
  type ProxyConfig,
  type ProxyConfigInput,
  proxyConfig,
} from './printed-config.ts';
export {
  includesOf,
  ownPortOf,
  type PartFile,
  type ProxyFile,
  partFiles,
  proxyFileNames,
  proxyFiles,
  SHIPPED_PORT,
} from './proxy-files.ts';
export { type Address, type Front, isHere } from './writer.ts';
export { asksOverGrpc, PROXIES } from './writers.ts';
