/** Whether a client asks for HTML by name, as browsers do (RFC 9110, section 12.5.1). Ranges such as `*` are no wish. */
export function wantsHtml(accept: string): boolean {
  for (const [, parameters = ''] of accept.matchAll(HTML)) {
    if (!REFUSED.test(parameters)) return true;
  }
  return false;
}

const HTML = /(?:^|,)[ \t]*text\/html[ \t]*(;[^,]*)?(?![^,])/gi;
const REFUSED = /;[ \t]*q=0(?:\.0{0,3})?[ \t]*(?:;|$)/i;
