import type { UnseenHeader } from '../core/header-watch.ts';

/** `none of 1000 requests through nginx had x-api-key` */
export function unseenText({ dialect, header, requests }: UnseenHeader): string {
  return `none of ${requests} requests through ${dialect} had ${header}`;
}

export function unseenAdvice(unseen: UnseenHeader, hasProxyConfig: boolean): string {
  const command = `headgate proxy-config ${unseen.dialect} --policies FILE`;
  const remedy = `pass the header on${hasProxyConfig ? `, as the configuration from ${command} does` : ''}`;
  return `${unseenText(unseen)}: if clients send it, the proxy does not pass it on, and they share limits; ${remedy}; if no client sends it, remove it from the policy file`;
}
