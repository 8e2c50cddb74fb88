/**
 * Loaded before a gateway, with `--import`: its clock is as many milliseconds ahead as CLOCK_AHEAD_MS says, and after SIGUSR2 as
 * many as CLOCK_LATER_AHEAD_MS says. So a gateway is before midnight, and then after it, at any time of the day.
 */
const real = Date.now;
let aheadMs = Number(process.env.CLOCK_AHEAD_MS ?? 0);

Date.now = () => real() + aheadMs;
process.on('SIGUSR2', () => {
  aheadMs = Number(process.env.CLOCK_LATER_AHEAD_MS ?? 0);
});
