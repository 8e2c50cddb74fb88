/** The fields that every peer knows by number: https://www.rfc-editor.org/rfc/rfc7541#appendix-A */

/** In the order of their numbers. After the first space of a field comes its value. No field has the number 0. */
const FIELDS = [
  '',
  ':authority|:method GET|:method POST|:path /|:path /index.html|:scheme http|:scheme https',
  ':status 200|:status 204|:status 206|:status 304|:status 400|:status 404|:status 500',
  'accept-charset|accept-encoding gzip, deflate|accept-language|accept-ranges|accept',
  'access-control-allow-origin|age|allow|authorization|cache-control|content-disposition',
  'content-encoding|content-language|content-length|content-location|content-range|content-type',
  'cookie|date|etag|expect|expires|from|host|if-match|if-modified-since|if-none-match|if-range',
  'if-unmodified-since|last-modified|link|location|max-forwards|proxy-authenticate',
  'proxy-authorization|range|referer|refresh|retry-after|server|set-cookie',
  'strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate',
].flatMap((line) => line.split('|'));

/** Index: the number of the field. */
export const STATIC_NAMES = FIELDS.map((field) => field.replace(/ .*/, ''));
export const STATIC_VALUES = FIELDS.map((field) => field.replace(/^[^ ]* ?/, ''));

/** The dynamic table begins at this number. */
export const STATIC_END = FIELDS.length;
