/** The URI in a `proxy_pass`. */

import type { Directive } from '../../nginx-syntax/directive.ts';
import { ruleOf } from './locations.ts';

const URL_WITH_URI =
  /^[a-z]+:\/\/(?:unix:[^:]*:|(?!unix:)[^/$]*(?:\$\{?(?!request_uri|uri)\w+\}?)?[^/$]*)([/$].*)$/;

/** `/api/` of `http://127.0.0.1:3000/api/`. Undefined if the request keeps its path. */
export function uriOf(url: string, location: Directive): string | undefined {
  const { kind, text } = ruleOf(location);
  const uri = URL_WITH_URI.exec(url)?.[1];
  return text === '' || (uri === text && !kind.startsWith('~')) ? undefined : uri;
}
