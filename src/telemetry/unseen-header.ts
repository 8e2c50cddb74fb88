/** What is said of a header that no request through a proxy had. */
import type { UnseenHeader } from '../core/header-watch.ts';

/** Its controller writes the configuration, which passes all headers on. */
const WITHOUT_FILE = 'ingress-nginx';

/** `none of 1000 requests through nginx had x-api-key` */
export function unseenText({ dialect, header, requests }: UnseenHeader): string {
  return `none of ${requests} requests through ${dialect} had ${header}`;
}

/** The same, with what it may mean and what to do. */
export function doubtText(doubt: UnseenHeader): string {
  const { dialect } = doubt;
  const file =
    dialect === WITHOUT_FILE ? '' : `run headgate proxy-config ${dialect} --policies FILE, or `;
  return `${unseenText(doubt)}: if clients send it, the proxy does not pass it on, and their limits are shared; ${file}pass the header on; if nobody sends it, take it out of the policy file`;
}
