/** Lets web pages read a denial (Fetch standard, "HTTP responses" of the CORS protocol). */
import type { AnswerStyle } from '../../core/answer-style.ts';
import type { HeaderFields } from '../../core/check-request.ts';
import { fieldOf } from '../../core/identity/header-value.ts';
import { ORIGIN } from '../../core/preflight.ts';

/** Adds the headers for the page that sent the request, if the policy file lists its origin. It reads all that is there. */
export function addCors(headers: string[], style: AnswerStyle, sent?: HeaderFields): void {
  const { cors } = style;
  if (cors === undefined) return;
  const isForAll = cors.origins.has('*');
  // A cache must not give one page the answer for another one, so this is also said to requests without an origin.
  if (!isForAll) addVary(headers, 'Origin');
  const origin = isForAll ? '*' : sent && fieldOf(sent, ORIGIN);
  if (typeof origin !== 'string' || !cors.origins.has(origin)) return;
  const names = headers.filter((_, i) => i % 2 === 0);
  headers.push('Access-Control-Allow-Origin', origin);
  if (cors.credentials) headers.push('Access-Control-Allow-Credentials', 'true');
  headers.push('Access-Control-Expose-Headers', names.join(', '));
}

/** In one header: some proxies pass on the first of several. */
function addVary(headers: string[], name: string): void {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] !== 'Vary') continue;
    headers[i + 1] += `, ${name}`;
    return;
  }
  headers.push('Vary', name);
}
