/**
 * Headers from which applications and frameworks take another host, port or path than that of the request. Every file
 * of deploy/ sets or removes them, or says why it cannot.
 */
export const HOST_AND_PATH_HEADERS = [
  'Forwarded',
  'X-Forwarded-Host',
  'X-Forwarded-Port',
  'X-Forwarded-Prefix',
  'X-Forwarded-Scheme',
  'X-Forwarded-Server',
  'X-Forwarded-Uri',
  'X-Host',
  'X-HTTP-Host-Override',
  'X-Original-Host',
  'X-Original-URI',
  'X-Original-URL',
  'X-Rewrite-URL',
  'X-Script-Name',
] as const;
