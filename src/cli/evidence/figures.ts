/** Numbers and times as people read them. */
import { shortTime } from '../../gateway/operations/texts.ts';

export function count(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** `1 request`, `1,234 requests` */
export function counted(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
}

/** A share with two digits, as in `0.12 %`. Only all is 100 %, and only nothing is 0 %. */
export function percent(part: number, whole: number): string {
  if (part === 0 || whole === 0) return '0 %';
  if (part === whole) return '100 %';
  const share = (100 * part) / whole;
  return share > 99 ? `${Math.floor(share * 10) / 10} %` : `${share.toPrecision(2)} %`;
}

export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** `2026-11-22 00:53 (1,234)` */
export function busiestText({ busiest_minute: busiest }: CountsReport): string {
  return busiest === null
    ? ''
    : `${timeText(busiest.at).slice(0, -3)} (${count(busiest.requests)})`;
}

interface CountsReport {
  readonly busiest_minute: { readonly at: string; readonly requests: number } | null;
}

/** `2026-11-22 00:53:32`, in UTC as the ISO time that is given. */
export function timeText(iso: string | null): string {
  return iso === null ? '' : shortTime(iso);
}
