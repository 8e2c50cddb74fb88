/** Namespaces of Envoy's metadata whose values come from the client, so no user and no plan can be taken from them. */

/**
 * By the namespace, where its values come from. The names are those that filters use unless their configuration names
 * another one (envoy/extensions/filters of Envoy 1.40): filters can write what a client sends into any namespace.
 */
const CLIENT_WRITTEN = new Map([
  ['envoy.filters.http.header_to_metadata', 'headers and cookies of the request'],
  ['envoy.filters.http.json_to_metadata', 'the body of the request'],
  ['envoy.filters.http.thrift_to_metadata', 'the body of the request'],
  ['envoy.filters.http.grpc_field_extraction', 'the body of the request'],
  ['envoy.filters.http.proto_message_extraction', 'the body of the request'],
  ['envoy.filters.http.mcp', 'the body of the request'],
  ['envoy.filters.http.a2a', 'the body of the request'],
  // Scripts and rules for subsets of endpoints write here, usually from headers.
  ['envoy.filters.http.lua', 'a script that reads the request'],
  ['envoy.lb', 'headers of the request'],
  ['envoy.filters.listener.proxy_protocol', 'what the other end of the connection sends first'],
]);

/** Where the client writes the values of a namespace. Undefined if the namespace is not known for that. */
export function clientWrittenFrom(namespace: string): string | undefined {
  return CLIENT_WRITTEN.get(namespace);
}
