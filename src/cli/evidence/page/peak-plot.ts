/** The plot of a limit's peaks, as SVG: a bar for each bin, and a line at the limit. */
import { count, counted } from '../figures.ts';
import { type Html, html, NOTHING } from './html.ts';
import type { PeakBin, PeakSummary } from './peak-bins.ts';

const WIDTH = 520;
const HEIGHT = 240;
const LEFT = 58;
const RIGHT = WIDTH - 10;
const TOP = 26;
const BOTTOM = HEIGHT - 44;
/** With more clients in a bin, the heights are logarithmic: otherwise a single client would not be seen. */
const MOST_LINEAR_CLIENTS = 50;

type Scale = (value: number) => number;

export function peakPlot(summary: PeakSummary, limit: number, label: string): Html {
  const { bins, isLogarithmic } = summary;
  const lastPeak = bins.at(-1)?.most ?? 1;
  const most = Math.max(1, ...bins.map(({ clients }) => clients));
  const isLogarithmicY = most > MOST_LINEAR_CLIENTS;
  const x = scaleOf({ from: 0.5, to: lastPeak + 0.5, start: LEFT, end: RIGHT, isLogarithmic });
  const y = scaleOf({
    from: isLogarithmicY ? 0.5 : 0,
    to: most,
    start: BOTTOM,
    end: TOP,
    isLogarithmic: isLogarithmicY,
  });
  const scaleText = (isLog: boolean) => (isLog ? ' (logarithmic)' : '');
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}">
<g class="grid">${ticks(most, isLogarithmicY).map((tick) => tickY(tick, y(tick)))}</g>
<g class="axis">${ticks(lastPeak, isLogarithmic).map((tick) => tickX(tick, x(tick)))}</g>
<g>${bins.map((bin) => bar(bin, x, y))}</g>
<line class="base" x1="${LEFT}" x2="${RIGHT}" y1="${BOTTOM}" y2="${BOTTOM}"></line>
${limitLine(limit, x(limit + 0.5))}
<text class="name" x="${LEFT}" y="12">Clients${scaleText(isLogarithmicY)}</text>
<text class="name end" x="${RIGHT}" y="${HEIGHT - 8}">Peak of a client${scaleText(isLogarithmic)}</text>
</svg>`;
}

interface ScaleOptions {
  readonly from: number;
  readonly to: number;
  readonly start: number;
  readonly end: number;
  readonly isLogarithmic: boolean;
}

function scaleOf({ from, to, start, end, isLogarithmic }: ScaleOptions): Scale {
  const transform = isLogarithmic ? Math.log10 : (value: number) => value;
  const [low, high] = [transform(from), transform(to)];
  return (value) => {
    const share = (transform(Math.max(value, from)) - low) / (high - low);
    return Number((start + share * (end - start)).toFixed(1));
  };
}

function bar({ least, most, clients, isOver }: PeakBin, x: Scale, y: Scale): Html {
  if (clients === 0) return NOTHING;
  const [left, right, top] = [x(least - 0.5), x(most + 0.5), y(clients)];
  // A pixel between bars that are wide enough for it.
  const width = Math.max(1, right - left - (right - left > 4 ? 1 : 0));
  const title = `peak ${binText({ least, most })}: ${counted(clients, 'client')}`;
  return html`<rect class="${isOver ? 'over' : 'within'}" x="${left}" y="${top}" width="${width.toFixed(1)}" height="${(BOTTOM - top).toFixed(1)}"><title>${title}</title></rect>`;
}

/** `7`, `80 to 99` */
export function binText({ least, most }: Pick<PeakBin, 'least' | 'most'>): string {
  return least === most ? count(least) : `${count(least)} to ${count(most)}`;
}

function limitLine(limit: number, at: number): Html {
  const isRight = at > (LEFT + RIGHT) / 2;
  return html`<line class="limit" x1="${at}" x2="${at}" y1="${TOP - 10}" y2="${BOTTOM}"></line>
<text class="limit${isRight ? ' end' : ''}" x="${at + (isRight ? -5 : 5)}" y="${TOP - 3}">limit ${count(limit)}</text>`;
}

function tickX(tick: number, at: number): Html {
  return html`<line x1="${at}" x2="${at}" y1="${BOTTOM}" y2="${BOTTOM + 4}"></line><text class="middle" x="${at}" y="${BOTTOM + 17}">${short(tick)}</text>`;
}

function tickY(tick: number, at: number): Html {
  return html`<line x1="${LEFT}" x2="${RIGHT}" y1="${at}" y2="${at}"></line><text class="end" x="${LEFT - 7}" y="${at + 4}">${short(tick)}</text>`;
}

/** At most about six round numbers. Over several powers of ten, only those. */
function ticks(most: number, isLogarithmic: boolean): number[] {
  if (!isLogarithmic) {
    const step = [1, 2, 5, 10, 20].find((each) => most / each <= 6) ?? 50;
    return Array.from({ length: Math.floor(most / step) }, (_, i) => (i + 1) * step);
  }
  const found: number[] = [];
  const steps = most < 300 ? [1, 2, 5] : [1];
  for (let power = 1; power <= most; power *= 10) found.push(...steps.map((step) => step * power));
  return found.filter((tick) => tick <= most);
}

/** `200`, `5k`, `1M` */
function short(number: number): string {
  if (number >= 1_000_000) return `${number / 1_000_000}M`;
  return number >= 1_000 ? `${number / 1_000}k` : String(number);
}
