/** Proxies that accept HTTP/2 without TLS, by their name in the table of docs/proxies.md. */

/** What each file needs to accept HTTP/2 without TLS. NGINX accepts nothing else on that port then. */
export const HTTP_2: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  NGINX: { ';\n    client_max_body_size': ' http2;\n    client_max_body_size' },
  'Envoy, HTTP': {},
  'Envoy, gRPC': {},
  Caddy: { 'auto_https off': 'auto_https off\n\tservers {\n\t\tprotocols h1 h2c\n\t}' },
  HAProxy: { 'option disable-h2-upgrade': '# HTTP/2' },
};
