/** Words for rates and shares, as the page, `headgate top` and the answers of gateways write them. */

/** `0`, `0.4`, `12`, `3,400` */
export function rateText(perSecond: number): string {
  if (perSecond === 0) return '0';
  if (perSecond >= 9.95) return Math.round(perSecond).toLocaleString('en');
  return perSecond < 0.05 ? '<0.1' : perSecond.toFixed(1);
}

/** `3.1 %`. Never 100 % or 0 % if that is not exact. */
export function shareText(part: number, whole: number): string {
  if (part === 0 || whole === 0) return '0 %';
  const percent = (part / whole) * 100;
  if (percent < 0.1) return '<0.1 %';
  return `${percent === 100 ? 100 : Math.min(percent, 99.9).toFixed(1)} %`;
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

interface Gateways {
  readonly asked: number;
  readonly answered: number;
  /** Of those that answered. */
  readonly workers: number;
}

/** `3 gateways`, `4 workers`, `5 gateways (4 workers among them)`, `1 of 2 gateways`. Every process that answers is a gateway. */
export function gatewaysText({ asked, answered, workers }: Gateways): string {
  if (answered < asked) return `${answered} of ${plural(asked, 'gateway')}`;
  if (workers === answered) return plural(answered, 'worker');
  const some = workers === 0 ? '' : ` (${plural(workers, 'worker')} among them)`;
  return `${plural(answered, 'gateway')}${some}`;
}

/** `a; and 2 more` */
export function firstText([first = '', ...others]: readonly string[]): string {
  return others.length === 0 ? first : `${first}; and ${others.length} more`;
}

/** `a, b and c`; of many, the first ones. */
export function listText(names: readonly string[], most = 5): string {
  const shown = names.length > most ? names.slice(0, most - 1) : names;
  const more = names.length - shown.length;
  const all = more > 0 ? [...shown, `${more} more`] : shown;
  return [all.slice(0, -1).join(', '), all.at(-1)].filter(Boolean).join(' and ');
}
