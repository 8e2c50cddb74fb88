/** Requests and denials over time as a page draws them: few enough points, and no maximum lost. */
import type { MinutePoint, PolicyChart } from '../replay/charts.ts';
import { MINUTE_MS } from '../replay/result.ts';

const MOST_POINTS = 4_000;

export type TimeSeries = NonNullable<ReturnType<typeof timeSeriesOf>>;

/**
 * All policies have the same points in time. A point has the most requests, and the most denied requests, of one of its
 * minutes.
 */
export function timeSeriesOf(charts: readonly PolicyChart[]) {
  const ends = charts.flatMap(({ minutes }) => [minutes[0] ?? [], minutes.at(-1) ?? []]);
  const times = ends.flatMap(([atMs]) => atMs ?? []);
  if (times.length === 0) return undefined;
  const fromMs = Math.min(...times);
  const minutes = (Math.max(...times) - fromMs) / MINUTE_MS + 1;
  const minutesPerPoint = Math.ceil(minutes / MOST_POINTS);
  const points = Math.ceil(minutes / minutesPerPoint);
  const pointOf = (atMs: number) => Math.floor((atMs - fromMs) / MINUTE_MS / minutesPerPoint);
  const policies = charts.map((chart) => {
    const requests = new Array<number>(points).fill(0);
    const denied = new Array<number>(points).fill(0);
    for (const [atMs, ofMinute, deniedOfMinute] of chart.minutes) {
      const point = pointOf(atMs);
      requests[point] = Math.max(requests[point] ?? 0, ofMinute);
      denied[point] = Math.max(denied[point] ?? 0, deniedOfMinute);
    }
    return { requests, denied };
  });
  return { fromMs, minutesPerPoint, policies };
}

export interface TimeRow {
  readonly atMs: number;
  requests: number;
  denied: number;
  mostRequests: number;
  mostDenied: number;
}

const MOST_ROWS = 200;
const DAY = 1_440;
const ROW_MINUTES = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, DAY, 7 * DAY, 28 * DAY];

export function timeTableOf(minutes: readonly MinutePoint[]) {
  const [from = 0, to = 0] = [minutes[0]?.[0], minutes.at(-1)?.[0]];
  const span = (to - from) / MINUTE_MS + 1;
  const minutesPerRow = ROW_MINUTES.find((each) => span / each <= MOST_ROWS) ?? 364 * DAY;
  const rowMs = minutesPerRow * MINUTE_MS;
  const rows: TimeRow[] = [];
  for (const [minuteMs, requests, denied] of minutes) {
    const atMs = Math.floor(minuteMs / rowMs) * rowMs;
    let row = rows.at(-1);
    if (row?.atMs !== atMs) {
      row = { atMs, requests: 0, denied: 0, mostRequests: 0, mostDenied: 0 };
      rows.push(row);
    }
    row.requests += requests;
    row.denied += denied;
    row.mostRequests = Math.max(row.mostRequests, requests);
    row.mostDenied = Math.max(row.mostDenied, denied);
  }
  return { minutesPerRow, rows };
}
