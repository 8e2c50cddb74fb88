/** The policies of an endpoint: those of its most specific route and, if it is an MCP server, of the call. */
import type { HeaderFields } from '../check-request.ts';
import { compileMcpCalls, type McpRoute } from '../mcp/mcp-calls.ts';
import type { Policy } from '../policy.ts';
import type { Trace } from '../trace.ts';
import { compileMatcher, type Matchable, type Matcher, placeKey, type Route } from './matcher.ts';

export interface Endpoints extends Pick<Matcher<Policy>, 'around'> {
  /** Adds the policies that are not there yet. Returns false if the headers of an MCP call are malformed. */
  add(policies: Policy[], line: Matchable, sent: SentHeaders): boolean;
  /** Whether policies for MCP calls have this path. */
  isMcp(line: Matchable): boolean;
}

export interface SentHeaders {
  readonly headers: HeaderFields;
  /** The proxy has compared the headers of MCP calls with their bodies. */
  readonly vouchesMcp: boolean;
  readonly trace: Trace | undefined;
}

export function compileEndpoints(routes: readonly Route<Policy>[]): Endpoints {
  const plain = compileMatcher(routes.filter(({ mcp }) => mcp === undefined));
  const servers = compileServers(routes.filter(isMcpRoute));
  return {
    around(line, paths) {
      const found = [plain.around(line, paths), servers.around(line, paths)];
      return found.every((each) => each !== undefined) ? [...new Set(found.flat())] : undefined;
    },
    add(policies, line, { headers, vouchesMcp, trace }) {
      const tell = trace && ((what: string) => trace({ type: 'mcp-call', what }));
      const other = plain.best(line);
      const server = servers.best(line);
      const isCloser = server && (other === undefined || server.order <= other.order);
      const called = isCloser ? server.value(headers, vouchesMcp, tell) : NOTHING;
      if (called === undefined) return false;
      for (const policy of called) addOnce(policies, policy);
      if (called.length === 0) addOnce(policies, other?.value);
      return true;
    },
    isMcp: (line) => servers({ ...line, method: 'POST' }) !== undefined,
  };
}

const NOTHING: readonly Policy[] = [];

type RouteOfMcp = Route<Policy> & McpRoute<Policy>;

function isMcpRoute(route: Route<Policy>): route is RouteOfMcp {
  return route.mcp !== undefined;
}

function compileServers(routes: readonly RouteOfMcp[]) {
  const servers = [...Map.groupBy(routes, placeKey).values()];
  return compileMatcher(
    servers.map((own) => ({ ...(own[0] as RouteOfMcp), value: compileMcpCalls(own) })),
  );
}

export function addOnce(policies: Policy[], policy: Policy | undefined): void {
  if (policy !== undefined && !policies.includes(policy)) policies.push(policy);
}
