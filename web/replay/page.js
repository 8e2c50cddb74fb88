// @ts-check
/** Draws the plots over time from the numbers in the page. All plots show the same time. */
(() => {
  /** @typedef {{ requests: number[], denied: number[] }} PolicySeries */
  /** @typedef {{ fromMs: number, minutesPerPoint: number, policies: PolicySeries[] }} TimeSeries */

  /** @type {TimeSeries | null} */
  const series = JSON.parse(elementOf('#data').textContent ?? 'null');
  if (series === null) return;
  const toolbar = elementOf('.toolbar');
  const shown = elementOf('#shown');

  const stepSeconds = series.minutesPerPoint * 60;
  const from = series.fromMs / 1000;
  const points = series.policies[0]?.requests.length ?? 0;
  // A point stands until the next one, so the last one needs an end.
  const times = Array.from({ length: points + 1 }, (_, i) => from + i * stepSeconds);
  const to = from + points * stepSeconds;
  const SHORTEST = Math.min(5 * stepSeconds, to - from);
  const WHOLE_STEPS = Array.from(
    { length: 27 },
    (_, i) => ([1, 2, 5][i % 3] ?? 1) * 10 ** Math.floor(i / 3),
  );
  const HEIGHTS = { requests: 140, denied: 96 };

  /** @type {uPlot[]} */
  const plots = [];
  let isSharing = false;

  toolbar.hidden = false;
  for (const place of document.querySelectorAll('.plot')) {
    if (place instanceof HTMLElement) plots.push(draw(place));
  }
  for (const button of toolbar.querySelectorAll('button'))
    button.addEventListener('click', () => zoom(button.dataset.zoom ?? ''));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  addEventListener('beforeprint', redraw);
  addEventListener('resize', () => {
    for (const plot of plots) plot.setSize({ width: widthOf(plot.root), height: plot.height });
  });
  tellShown(from, to);

  /** @param {HTMLElement} place */
  function draw(place) {
    const kind = place.dataset.kind === 'denied' ? 'denied' : 'requests';
    const values = series?.policies[Number(place.dataset.policy)]?.[kind] ?? [];
    const reading = place.parentElement?.querySelector('.reading');
    return new uPlot(
      {
        width: place.clientWidth,
        height: HEIGHTS[kind],
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
        legend: { show: false },
        cursor: { y: false, sync: { key: 'time' }, drag: { x: true, y: false, dist: 4 } },
        scales: { x: { time: true }, y: { range: (_, __, most) => [0, Math.max(1, most * 1.05)] } },
        axes: axes(),
        series: [
          {},
          {
            stroke: () => color(`--${kind}`),
            fill: () => color(`--${kind}-fill`),
            width: 1,
            points: { show: false },
            ...(uPlot.paths.stepped && { paths: uPlot.paths.stepped({ align: 1 }) }),
          },
        ],
        hooks: {
          setScale: [(plot, key) => key === 'x' && share(plot)],
          setCursor: [
            ({ cursor: { idx } }) => {
              if (reading) reading.textContent = idx == null ? '' : readingOf(values, idx);
            },
          ],
        },
      },
      [times, [...values, values.at(-1) ?? 0]],
      place,
    );
  }

  /** @returns {uPlot.Axis[]} */
  function axes() {
    const lines = {
      stroke: () => color('--quiet'),
      font: '12px system-ui, sans-serif',
      ticks: { stroke: () => color('--rule'), size: 4, width: 1 },
    };
    return [
      { ...lines, grid: { show: false }, size: 26, values: (_, ticks) => ticks.map(tickText) },
      {
        ...lines,
        grid: { stroke: () => color('--rule'), width: 1 },
        size: 58,
        space: 28,
        incrs: WHOLE_STEPS,
        values: (_, ticks) => ticks.map((tick) => tick.toLocaleString('en-US')),
      },
    ];
  }

  /** Shows the time of one plot in all. @param {uPlot} plot */
  function share(plot) {
    const { min, max } = plot.scales.x ?? {};
    if (isSharing || min == null || max == null) return;
    isSharing = true;
    for (const other of plots) if (other !== plot) other.setScale('x', { min, max });
    isSharing = false;
    tellShown(min, max);
  }

  /** @param {string} how */
  function zoom(how) {
    const { min = from, max = to } = plots[0]?.scales.x ?? {};
    const [start, end] = [min ?? from, max ?? to];
    const quarter = (end - start) / 4;
    if (how === 'in') show(start + quarter, end - quarter);
    else if (how === 'out') show(start - 2 * quarter, end + 2 * quarter);
    else if (how === 'earlier') show(start - 2 * quarter, end - 2 * quarter);
    else if (how === 'later') show(start + 2 * quarter, end + 2 * quarter);
    else show(from, to);
  }

  /** Keeps to the time of the log. @param {number} start @param {number} end */
  function show(start, end) {
    const length = Math.min(Math.max(end - start, SHORTEST), to - from);
    const min = Math.min(Math.max(start, from), to - length);
    plots[0]?.setScale('x', { min, max: min + length });
  }

  /** @param {number} min @param {number} max */
  function tellShown(min, max) {
    shown.textContent = `${timeText(min)} to ${timeText(max)}`;
  }

  function redraw() {
    for (const plot of plots) plot.redraw(false);
  }

  /** @param {number[]} values @param {number} index */
  function readingOf(values, index) {
    const value = values[Math.min(index, values.length - 1)] ?? 0;
    return `${timeText(times[index] ?? from)}: ${value.toLocaleString('en-US')}`;
  }

  /** A day at midnight, otherwise a time of day. @param {number} seconds */
  function tickText(seconds) {
    const text = timeText(seconds);
    return text.endsWith(' 00:00') ? text.slice(5, 10) : text.slice(11);
  }

  /** `2026-11-22 00:53`, in UTC. @param {number} seconds */
  function timeText(seconds) {
    return new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' ');
  }

  /** @param {string} name */
  function color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name);
  }

  /** @param {HTMLElement} root */
  function widthOf(root) {
    return root.parentElement?.clientWidth ?? 0;
  }

  /** @param {string} selector @returns {HTMLElement} */
  function elementOf(selector) {
    const found = document.querySelector(selector);
    if (found instanceof HTMLElement) return found;
    throw new Error(`the page has no ${selector}`);
  }
})();
