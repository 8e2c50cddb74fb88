/**
 * HAProxy, through the Lua action of `deploy/haproxy`.
 *
 * The action asks with a GET of the gateway's own path, and every header of that request is its own. It hands a denial
 * to the client as it is, and keeps the headers of an allow for the response.
 */
import type { Dialect } from '../core/dialect.ts';
import { renderer } from './shared/answer.ts';
import { questionParser } from './shared/forwarded-request.ts';

const METHOD = 'x-original-method';
const TARGET = 'x-original-uri';
/** Who connected. */
const PEER_ADDRESS = 'x-headgate-peer-ip';
/** `src`, which `http-request set-src` may have changed. */
const CLIENT_ADDRESS = 'x-headgate-client-ip';

const parse = questionParser({
  method: METHOD,
  target: TARGET,
  peer: PEER_ADDRESS,
  client: CLIENT_ADDRESS,
  requiredAddress: PEER_ADDRESS,
});

export const haproxy: Dialect = {
  name: 'haproxy',
  mount: '/haproxy',
  hasProxyConfig: true,
  badRequest: 400,
  parse,
  render: renderer(400),
};
